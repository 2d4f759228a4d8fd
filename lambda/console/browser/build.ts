import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/** A file of the console's pages, under a name that changes with it. */
interface Built {
  readonly role: string;
  readonly file: string;
  readonly type: string;
  readonly body: string;
}

/** Script, style and icon, as small as they get. */
export const buildAssets = (): Promise<readonly Built[]> =>
  Promise.all([
    bundled('main.ts').then((body) => built('script', 'js', 'text/javascript; charset=utf-8', body)),
    bundled('console.css').then((body) => built('style', 'css', 'text/css; charset=utf-8', body)),
    readFile(here('waitstate.svg'), 'utf8').then((body) => built('icon', 'svg', 'image/svg+xml', body.trim())),
  ]);

async function bundled(entry: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [here(entry)],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    charset: 'utf8',
    legalComments: 'none',
    target: ['chrome111', 'firefox113', 'safari16.4'],
  });
  return outputFiles[0]?.text.trim() ?? '';
}

function built(role: string, ending: string, type: string, body: string): Built {
  const hash = createHash('sha256').update(body).digest('base64url').replaceAll(/[-_]/g, '').slice(0, 10);
  return { role, file: `waitstate-${hash}.${ending}`, type, body };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const assets = await buildAssets();
  const files = assets.map(({ role, file }) => `  ${role}: '${file}',`);
  const entries = assets.map(
    ({ file, type, body }) => `  ['${file}', { type: '${type}', body: ${JSON.stringify(body)} }],`,
  );
  await writeFile(
    here('../assets.ts'),
    `// Made from browser/ by \`npm run assets\`.

/** The files that pages name. */
export const FILES = {
${files.join('\n')}
} as const;

/** What pages load, by file name; a name is that of its content, so it never changes. */
export const ASSETS: ReadonlyMap<string, { readonly type: string; readonly body: string }> = new Map([
${entries.join('\n')}
]);
`,
  );
  for (const { file, body } of assets) console.log(`${file} ${Buffer.byteLength(body)} bytes`);
}
