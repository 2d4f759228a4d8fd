// A local server in a separate process, which a test can kill.
import { flushCompileCache } from 'node:module';
import { serve } from '../../../cli/dev/server/serve.ts';
import { render } from '../../../cli/terminal/line.ts';

const options = JSON.parse(process.argv[2] ?? '{}');
const server = await serve({ ...options, print: (line) => console.log(render(line, (_, text) => text)) });
console.log(`serves ${server.keyedUrl}`);
process.on('SIGTERM', async () => {
  await server.stop();
  console.log('stopped');
});
await server.ready;
// A killed process would not write the compile cache.
flushCompileCache();
console.log('ready');
