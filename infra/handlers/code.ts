import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';

// In the package they are built beside this; in the sources CDK has them bundled where it needs code, as of agents.
const BUILT = fileURLToPath(new URL('../../functions', import.meta.url));
const BUILD = fileURLToPath(new URL('./build.ts', import.meta.url));
const SOURCES = fileURLToPath(new URL('.', import.meta.url));

/** The code of all handlers, bundled; a function's handler says which of them it is. */
export function handlerCode(): Code {
  if (existsSync(BUILT)) return Code.fromAsset(BUILT);
  const tryBundle = (folder: string): boolean => {
    execFileSync(process.execPath, [BUILD, folder], { stdio: ['ignore', 'inherit', 'inherit'] });
    return true;
  };
  return Code.fromAsset(SOURCES, {
    assetHashType: AssetHashType.OUTPUT,
    // The image is never used.
    bundling: { image: DockerImage.fromRegistry('none'), local: { tryBundle } },
  });
}
