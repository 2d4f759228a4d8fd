import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Metafile } from 'esbuild';
import { HANDLERS } from '../../lambda/environment/names.ts';
import { ESM_OPTIONS, REQUIRE_BANNER } from '../bundling.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Bundles the handlers into a folder, as functions of Lambda: one file for each, and what several need, or only some calls
 * need, in chunks beside them. The same sources give the same bytes, wherever the folder is. Gives
 * what esbuild says that is in them.
 */
export async function bundleHandlers(folder: string): Promise<Metafile> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: HANDLERS.map((name) => `lambda/handlers/${name}.ts`),
    // Where files are said to be: what is written has paths from here to the sources, and none of this machine.
    outdir: join(ROOT, 'dist/functions'),
    write: false,
    outExtension: { '.js': '.mjs' },
    chunkNames: 'chunk-[hash]',
    bundle: true,
    splitting: true,
    sourcemap: 'linked',
    legalComments: 'none',
    metafile: true,
    format: 'esm',
    platform: 'node',
    ...ESM_OPTIONS,
    banner: { js: REQUIRE_BANNER },
    logLevel: 'warning',
  });
  mkdirSync(folder, { recursive: true });
  for (const { path, contents } of outputFiles) writeFileSync(join(folder, basename(path)), contents);
  writeFileSync(join(folder, 'LICENSES.txt'), licensesOf(metafile));
  return metafile;
}

/** The licences of the packages that are in the bundles, as they ask for; one text for all who have the same. */
function licensesOf({ inputs }: Metafile): string {
  const folders = new Set(
    Object.keys(inputs).flatMap((path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []),
  );
  const named = Map.groupBy([...folders].sort().map(licenseOf), ({ text }) => text);
  return [...named].map(([text, packages]) => `${packages.map(({ name }) => name).join('\n')}\n\n${text}\n`).join('\n');
}

function licenseOf(folder: string): { readonly name: string; readonly text: string } {
  const at = join(ROOT, folder);
  const { name, version, license } = JSON.parse(readFileSync(join(at, 'package.json'), 'utf8')) as Record<
    string,
    string
  >;
  const file = readdirSync(at).find((each) => /^licen[cs]e/i.test(each));
  return { name: `${name} ${version} (${license})`, text: file ? readFileSync(join(at, file), 'utf8').trim() : '' };
}
