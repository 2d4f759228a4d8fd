import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Metafile } from 'esbuild';
import { HANDLERS } from '../../lambda/environment/names.ts';
import { ESM_OPTIONS, REQUIRE_BANNER } from '../bundling.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Bundles the handlers for Lambda: one entry file for each, with shared and dynamically imported code in chunks. The
 * same sources produce the same bytes in any folder. Returns the metafile of esbuild.
 */
export async function bundleHandlers(folder: string): Promise<Metafile> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: HANDLERS.map((name) => `lambda/handlers/${name}.ts`),
    // Source maps contain paths relative to this folder, so the output does not depend on the machine.
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
  writeFileSync(join(folder, 'LICENSES.txt'), collectLicenses(metafile));
  return metafile;
}

/** The licenses of the bundled packages. Packages with the same text are listed together. */
function collectLicenses({ inputs }: Metafile): string {
  const folders = new Set(
    Object.keys(inputs).flatMap((path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []),
  );
  const packagesByText = Map.groupBy([...folders].sort().map(readLicense), ({ text }) => text);
  return [...packagesByText]
    .map(([text, packages]) => `${packages.map(({ name }) => name).join('\n')}\n\n${text}\n`)
    .join('\n');
}

function readLicense(packageFolder: string): { readonly name: string; readonly text: string } {
  const path = join(ROOT, packageFolder);
  const manifest = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as Record<string, string>;
  const file = readdirSync(path).find((each) => /^licen[cs]e/i.test(each));
  return {
    name: `${manifest.name} ${manifest.version} (${manifest.license})`,
    text: file ? readFileSync(join(path, file), 'utf8').trim() : '',
  };
}
