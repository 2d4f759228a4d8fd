// Unpacks Chromium into the folder for temporary files, in a process of its own: where that is, only the environment says.
import chromium from '@sparticuz/chromium';

await chromium.executablePath();
