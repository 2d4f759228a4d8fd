import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { durationStyles } from '../run/duration-class.ts';
import { placeStyles } from '../run/place-class.ts';

const localPath = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/** A file that pages load, under a name with a hash of its content. */
interface BuiltAsset {
  readonly role: string;
  readonly file: string;
  readonly type: string;
  readonly body: string;
}

/** Bundles and minifies script, style and icon. */
export const buildAssets = (): Promise<readonly BuiltAsset[]> =>
  Promise.all([
    bundle('main.ts').then((body) => toAsset('script', 'js', 'text/javascript; charset=utf-8', body)),
    bundle('console.css').then((body) =>
      toAsset('style', 'css', 'text/css; charset=utf-8', body + durationStyles() + placeStyles()),
    ),
    readFile(localPath('waitstate.svg'), 'utf8').then((body) => toAsset('icon', 'svg', 'image/svg+xml', body.trim())),
  ]);

async function bundle(entry: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [localPath(entry)],
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

function toAsset(role: string, ending: string, type: string, body: string): BuiltAsset {
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
    localPath('../assets.ts'),
    `// Made from browser/ by \`npm run assets\`.

/** File names, by role. */
export const FILES = {
${files.join('\n')}
} as const;

/** The files that pages load, by name. Each name contains a hash of its content, so a file never changes. */
export const ASSETS: ReadonlyMap<string, { readonly type: string; readonly body: string }> = new Map([
${entries.join('\n')}
]);
`,
  );
  for (const { file, body } of assets) console.log(`${file} ${Buffer.byteLength(body)} bytes`);
}
