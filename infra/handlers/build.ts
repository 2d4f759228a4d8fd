// Bundles the handlers into the folder given as argument.
import { bundleHandlers } from './bundle.ts';

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('A folder is required. Usage: node infra/handlers/build.ts FOLDER');
await bundleHandlers(folder);
