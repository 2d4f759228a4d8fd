// Unpacks Chromium into TMPDIR. It runs in its own process, since the package reads the environment on import.
import chromium from '@sparticuz/chromium';

await chromium.executablePath();
