// The three functions of the native HTTP client of aws-lambda-ric, for Lambda's runtime API.
// https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
const { request } = require('node:http');

const [host, port] = process.env.AWS_LAMBDA_RUNTIME_API.split(':');

/** The native client posts before it returns; here, the next invocation waits for the post. */
let posted = Promise.resolve();

const call = (method, path, body, headers = {}) =>
  new Promise((resolve, reject) => {
    const options = { host, port, method, path: `/2018-06-01/runtime/invocation/${path}`, headers };
    request(options, async (response) => {
      const pieces = [];
      for await (const piece of response) pieces.push(piece);
      resolve({ bodyJson: Buffer.concat(pieces).toString(), headers: response.headers });
    })
      .on('error', reject)
      .end(body);
  });

module.exports = {
  next: async () => {
    await posted;
    return call('GET', 'next');
  },
  done(id, body) {
    posted = call('POST', `${id}/response`, body, { 'content-type': 'application/json' });
  },
  error(id, body, xray) {
    const headers = { 'content-type': 'application/json', 'lambda-runtime-function-xray-error-cause': xray };
    posted = call('POST', `${id}/error`, body, headers);
  },
};
