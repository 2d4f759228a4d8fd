import { install } from '../../tools/install.mjs';

/**
 * Installs the runtime interface client before the first test that needs it, without compiling its native HTTP client,
 * which takes minutes. To compile and use it: npm rebuild --prefix test/lambda-runtime aws-lambda-ric
 */
export default function installLambdaRuntime(): void {
  install('test/lambda-runtime', '--ignore-scripts');
}
