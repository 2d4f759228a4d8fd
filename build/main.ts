// Bundles the JavaScript of the package into the folder given as argument.
import { bundlePackage } from './bundle-package.ts';

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('A folder is required. Usage: node build/main.ts FOLDER');
await bundlePackage(folder);
