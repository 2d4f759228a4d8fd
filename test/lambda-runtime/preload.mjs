// Prepares the process of a function before Lambda's runtime interface client starts: moves its clock, and replaces the
// native HTTP client, which the package compiles at installation, if it is not compiled.
import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';

const NATIVE = new URL('./node_modules/aws-lambda-ric/rapid-client.node', import.meta.url);

const aheadMs = Number(process.env.TEST_AHEAD_MS);
// The function must see only the environment of its deployment.
delete process.env.TEST_AHEAD_MS;

// Simulates an invocation days later.
const RealDate = Date;
globalThis.Date = class extends RealDate {
  constructor(...args) {
    super(...(args.length === 0 ? [RealDate.now() + aheadMs] : args));
  }
  static now() {
    return RealDate.now() + aheadMs;
  }
};

if (!existsSync(NATIVE))
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === './rapid-client.node'
        ? { url: new URL('./rapid-client.cjs', import.meta.url).href, format: 'commonjs', shortCircuit: true }
        : next(specifier, context),
  });
