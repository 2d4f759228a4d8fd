import { install } from '../../tools/install.mjs';

/** Installs the load generator before the first test that needs it. */
export default function installLoadGenerator(): void {
  install('bench/load');
}
