import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';

// The npm package contains the built handlers: this code is in `dist/infra/index.js` there, next to `dist/functions/`. In
// the repository, CDK bundles them when an asset is needed.
const BUILT = fileURLToPath(new URL('../functions', import.meta.url));
const BUILD = fileURLToPath(new URL('./build.ts', import.meta.url));
const SOURCES = fileURLToPath(new URL('.', import.meta.url));

/** The bundled code of all handlers; the `handler` of a function selects one of them. */
export function handlerCode(): Code {
  if (existsSync(BUILT)) return Code.fromAsset(BUILT);
  const tryBundle = (folder: string): boolean => {
    execFileSync(process.execPath, [BUILD, folder], { stdio: ['ignore', 'inherit', 'inherit'] });
    return true;
  };
  return Code.fromAsset(SOURCES, {
    assetHashType: AssetHashType.OUTPUT,
    // Required by CDK, and never used: local bundling always succeeds or throws.
    bundling: { image: DockerImage.fromRegistry('none'), local: { tryBundle } },
  });
}
