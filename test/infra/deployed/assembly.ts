import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import type { Template } from './resolve.ts';

/** The output of `cdk synth`: a template for each stack, and the code that they deploy. */
export interface Assembly {
  templateOf(stack: string): Template;
  /** The folder with the code that a function has in `Code.S3Key`. */
  codeAt(key: string): string;
  remove(): void;
}

interface Manifest {
  readonly files: Readonly<
    Record<
      string,
      {
        readonly source: { readonly path: string; readonly packaging: string };
        readonly destinations: Readonly<Record<string, { readonly objectKey: string }>>;
      }
    >
  >;
}

const CDK_JSON = new URL('../../../cdk.json', import.meta.url);

/** Synthesises stacks as `cdk synth` does, with the flags of cdk.json, and reads them back from what was written. */
export function synthesise(stacks: Readonly<Record<string, (stack: Stack) => void>>): Assembly {
  const outdir = mkdtempSync(join(tmpdir(), 'waitstate-assembly-'));
  const { context } = JSON.parse(readFileSync(CDK_JSON, 'utf8'));
  const app = new App({
    outdir,
    analyticsReporting: false,
    // Functions are told apart by the paths of their constructs.
    context: { ...context, 'aws:cdk:enable-path-metadata': true },
  });
  for (const [name, define] of Object.entries(stacks)) define(new Stack(app, name));
  app.synth();

  const read = (file: string) => JSON.parse(readFileSync(join(outdir, file), 'utf8'));
  const manifests = Object.keys(stacks).map((name): Manifest => read(`${name}.assets.json`));
  const folders = new Map(
    manifests
      .flatMap(({ files }) => Object.values(files))
      .filter(({ source }) => source.packaging === 'zip')
      .flatMap(({ source, destinations }) =>
        Object.values(destinations).map(({ objectKey }) => [objectKey, join(outdir, source.path)] as const),
      ),
  );
  return {
    templateOf: (stack) => read(`${stack}.template.json`),
    codeAt(key) {
      const folder = folders.get(key);
      if (folder === undefined) throw new Error(`No asset of the assembly is called ${key}.`);
      return folder;
    },
    remove: () => rmSync(outdir, { recursive: true, force: true }),
  };
}
