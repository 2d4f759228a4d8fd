import { readFileSync } from 'node:fs';
import { build } from 'esbuild';
import { describe, expect, test } from 'vitest';

/** Bundles a program with this source; returns its files, its external packages and its size. */
async function bundle(
  source: string,
  { splitting = true } = {},
): Promise<{ files: string[]; packages: string[]; bytes: number }> {
  const { metafile } = await build({
    stdin: { contents: source, resolveDir: process.cwd(), loader: 'ts' },
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    outdir: 'out',
    splitting,
    external: ['@aws-sdk/*'],
    logLevel: 'silent',
  });
  const outputs = Object.values(metafile.outputs);
  return {
    bytes: outputs.reduce((sum, { bytes }) => sum + bytes, 0),
    files: outputs.flatMap(({ inputs }) => Object.keys(inputs).filter((file) => inputs[file]?.bytesInOutput)),
    packages: outputs
      .flatMap(({ imports }) => imports.map(({ path }) => path))
      .filter((path) => !path.startsWith('out/')),
  };
}

describe('a bundled program', () => {
  test('contains no SQLite code when it uses DynamoDB', async () => {
    const { files, packages } = await bundle(`export { checkpointStore } from './lambda/dynamodb.ts'`);
    expect(files.filter((file) => file.includes('embedded'))).toEqual([]);
    expect(packages).toContain('@aws-sdk/client-dynamodb');
    expect(packages).not.toContain('node:sqlite');
  });

  test('contains no AWS code when it uses the embedded storage', async () => {
    const { files, packages } = await bundle(`export { checkpointStore } from './lambda/embedded.ts'`);
    expect(files.filter((file) => /dynamodb|s3/.test(file))).toEqual([]);
    expect(packages.filter((name) => name.startsWith('@aws-sdk'))).toEqual([]);
  });

  test.each([
    [
      'S3, encryption, operator functions and error explanations',
      'dynamodb',
      [
        'checkpoints/operations/verify',
        'checkpoints/encryption/run-key',
        'storage/s3/s3-payloads',
        'storage/aws/to-storage-error',
      ],
    ],
    [
      'DynamoDB, S3, KMS and the conversion of transact items',
      'index',
      [
        'storage/dynamodb/dynamo-storage',
        'storage/s3/s3-payloads',
        'checkpoints/encryption/kms-keys',
        'runtime/operations/transact',
        'storage/dynamodb/transact/marshal-value',
      ],
    ],
  ] as const)('loads %s only on first use if its entry is %s.ts', async (_, entry, lates) => {
    const { metafile } = await build({
      entryPoints: [`lambda/${entry}.ts`],
      bundle: true,
      write: false,
      metafile: true,
      format: 'esm',
      platform: 'node',
      outdir: 'out',
      splitting: true,
      external: ['@aws-sdk/*'],
    });
    const loaded = new Set([`out/${entry}.js`]);
    for (const output of loaded) {
      const now = metafile.outputs[output]?.imports.filter(
        ({ kind, external }) => kind === 'import-statement' && !external,
      );
      for (const { path } of now ?? []) loaded.add(path);
    }
    const files = [...loaded].flatMap((output) => Object.keys(metafile.outputs[output]?.inputs ?? {}));
    expect(files).toContain('lambda/checkpoints/append.ts');
    const bundled = Object.keys(metafile.inputs);
    for (const late of lates) {
      expect(bundled).toContain(`lambda/${late}.ts`);
      expect(files).not.toContain(`lambda/${late}.ts`);
    }
  });

  test('imports only declared dependencies and, on demand, AWS packages when it is the CLI', async () => {
    const { metafile } = await build({
      ...{
        entryPoints: ['cli/main.ts', 'cli/dev/processes/invoke.ts', 'cli/dev/agents/describe.ts'],
        outdir: 'out',
        write: false,
      },
      ...{ bundle: true, metafile: true, format: 'esm', platform: 'node', packages: 'external', splitting: true },
    });
    const names = Object.values(metafile.inputs)
      .flatMap(({ imports }) => imports.filter(({ external }) => external).map(({ path }) => path))
      .filter((path) => !path.startsWith('node:'))
      .map((path) => (path.startsWith('@') ? path.split('/', 2).join('/') : (path.split('/', 1)[0] ?? '')));
    const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: object };
    const others = [...new Set(names)].filter((name) => !Object.hasOwn(dependencies, name));
    expect(names).toContain('hono');
    expect(others.filter((name) => !name.startsWith('@aws-sdk/'))).toEqual([]);
  });

  test('contains only the code that it uses', async () => {
    const { bytes } = await bundle(`export { isWaitstateError } from './lambda/index.ts'`, { splitting: false });
    expect(bytes).toBeLessThan(1_000);
  });
});
