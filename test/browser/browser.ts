// A browser from npm alone: @sparticuz/chromium has the program, the libraries and a font that a bare Linux lacks, and
// playwright-core drives it. Use one browser for a test file, and one context (cookies, size, color scheme) for a test:
//
//   const browser = await launch();
//   const context = await browser.newContext({ viewport: { width: 360, height: 740 }, colorScheme: 'dark' });
//   const page = await context.newPage();
//   await page.goto('http://127.0.0.1:1234/console?key=…');
//   await page.screenshot({ path: 'page.png', fullPage: true });
//   await browser.close();
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Browser, chromium } from 'playwright-core';

/** Launches a browser that can only reach this machine. The caller closes it. */
export async function launch(): Promise<Browser> {
  const folder = await unpacked();
  const libraries = [join(folder, 'al2023', 'lib'), process.env.LD_LIBRARY_PATH].filter(Boolean).join(':');
  return chromium.launch({
    executablePath: join(folder, 'chromium'),
    timeout: 120_000,
    env: { ...process.env, HOME: folder, LD_LIBRARY_PATH: libraries, FONTCONFIG_FILE: await fontsIn(folder) },
    args: FLAGS,
  });
}

const FLAGS = [
  // The sandbox of Chromium does not work for root, which runs tests in containers.
  '--no-sandbox',
  '--no-zygote',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--font-render-hinting=none',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-domain-reliability',
  '--disable-sync',
  '--no-pings',
  // Host names do not resolve, so requests to other hosts fail instead of leaving the machine.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
];

/** Unpacks the browser once for each version of its package; the rename makes the folder appear complete or not at all. */
async function unpacked(): Promise<string> {
  const platform = `${process.platform}-${process.arch}`;
  if (platform !== 'linux-x64') {
    throw new Error(
      `Tests in a browser need linux-x64, for which @sparticuz/chromium is published; this is ${platform}. ` +
        'Run the others with: npx vitest run --exclude "test/browser/**"',
    );
  }
  const cache = fileURLToPath(new URL('../../node_modules/.cache/waitstate', import.meta.url));
  const folder = join(cache, `chromium-${await packageVersion()}`);
  if (existsSync(folder)) return folder;

  await mkdir(cache, { recursive: true });
  const staging = await mkdtemp(join(cache, 'unpacking-'));
  // The package unpacks its libraries only if it detects Lambda.
  await promisify(execFile)(process.execPath, [fileURLToPath(new URL('./child-unpacking.ts', import.meta.url))], {
    env: { ...process.env, TMPDIR: staging, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x' },
  });
  await rename(staging, folder).catch(async (error) => {
    await rm(staging, { recursive: true, force: true });
    // Another process may have unpacked the same version first.
    if (!existsSync(folder)) throw error;
  });
  return folder;
}

async function packageVersion(): Promise<string> {
  const main = createRequire(import.meta.url).resolve('@sparticuz/chromium');
  return JSON.parse(await readFile(join(dirname(main), '..', 'package.json'), 'utf8')).version;
}

async function fontsIn(folder: string): Promise<string> {
  const file = join(folder, 'fonts.conf');
  await writeFile(
    file,
    `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(folder, 'fonts')}</dir>
  <dir>/usr/share/fonts/truetype/dejavu</dir>
  <cachedir>${join(folder, 'fonts-cache')}</cachedir>
  ${['sans-serif', 'serif', 'system-ui'].map((family) => prefer(family, 'Open Sans')).join('\n  ')}
  ${['monospace', 'ui-monospace'].map((family) => prefer(family, 'DejaVu Sans Mono')).join('\n  ')}
</fontconfig>
`,
  );
  return file;
}

const prefer = (family: string, font: string): string =>
  `<alias binding="same"><family>${family}</family><prefer><family>${font}</family></prefer></alias>`;
