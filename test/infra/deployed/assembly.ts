import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import type { Template } from './resolve.ts';

/** The output of `cdk synth`: a template for each stack, and the code assets. */
export interface Assembly {
  templateOf(stack: string): Template;
  /** The folder of the asset with this `Code.S3Key`. */
  codeAt(key: string): string;
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

/** Synthesizes stacks into a folder as `cdk synth` does, with the flags of cdk.json. */
export function synthesize(stacks: Readonly<Record<string, (stack: Stack) => void>>, outdir: string): void {
  const { context } = JSON.parse(readFileSync(CDK_JSON, 'utf8'));
  const app = new App({
    outdir,
    analyticsReporting: false,
    // It is slow; schemas.test.ts validates templates, and the deep tests turn it on.
    builtinCloudFormationValidation: false,
    // Functions are identified by their construct paths.
    context: { ...context, 'aws:cdk:enable-path-metadata': true },
  });
  for (const [name, define] of Object.entries(stacks)) define(new Stack(app, name));
  app.synth();
}

/** Reads the files that `synthesize` wrote. */
export function readAssembly(outdir: string): Assembly {
  const read = (file: string) => JSON.parse(readFileSync(join(outdir, file), 'utf8'));
  const manifests = readdirSync(outdir).filter((file) => file.endsWith('.assets.json'));
  const folders = new Map(
    manifests
      .flatMap((file) => Object.values((read(file) as Manifest).files))
      .filter(({ source }) => source.packaging === 'zip')
      .flatMap(({ source, destinations }) =>
        Object.values(destinations).map(({ objectKey }) => [objectKey, join(outdir, source.path)] as const),
      ),
  );
  return {
    templateOf: (stack) => read(`${stack}.template.json`),
    codeAt(key) {
      const folder = folders.get(key);
      if (folder === undefined) throw new Error(`The assembly has no asset ${key}.`);
      return folder;
    },
  };
}
