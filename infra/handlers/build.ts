// Bundles the handlers into the folder that is named.
import { bundleHandlers } from './bundle.ts';

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('Which folder? node infra/handlers/build.ts FOLDER');
await bundleHandlers(folder);
