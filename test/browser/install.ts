import { install } from '../../tools/install.mjs';

/** Installs the browser before the first test that needs it. */
export default function installBrowser(): void {
  install('test/browser');
}
