import { WaitstateError } from '../../lambda/core/errors.ts';
import { omitUndefined } from '../../lambda/core/omit-undefined.ts';
import type { AwsTarget, FolderTarget } from './target.ts';

/** What the command line says of where runs are. */
export interface TargetOptions {
  readonly folder?: string;
  readonly stack?: string;
  readonly region?: string;
  readonly profile?: string;
  readonly tenant?: string;
}

/** Where runs are: the folder or stack that is named, else what the environment names, else `.waitstate`. */
export async function resolveTarget(
  options: TargetOptions,
  environment: NodeJS.ProcessEnv,
): Promise<FolderTarget | AwsTarget> {
  const { folder, stack } = options;
  if (folder !== undefined && stack !== undefined) throw conflictingOptions('--folder', '--stack');
  setAwsEnvironment(options, environment);
  if (stack !== undefined) return (await import('./find-stack.ts')).findStack(stack);
  if (folder !== undefined) return { kind: 'folder', folder };
  const { WAITSTATE_TABLE: table, WAITSTATE_BUCKET: bucket, WAITSTATE_KMS_KEY: key } = environment;
  if (!table && !bucket) return { kind: 'folder', folder: environment.WAITSTATE_FOLDER || '.waitstate' };
  if (table && bucket) return { kind: 'aws', table, bucket, ...omitUndefined({ key: key || undefined }) };
  const missing = table ? 'WAITSTATE_BUCKET' : 'WAITSTATE_TABLE';
  throw new WaitstateError(
    'INVALID_INPUT',
    `The environment names a table or a bucket, and not both. Set ${missing} too, or name a place by --stack or --folder.`,
  );
}

/** All clients of AWS take region and profile from the environment. */
function setAwsEnvironment({ region, profile }: TargetOptions, environment: NodeJS.ProcessEnv): void {
  if (region !== undefined) environment.AWS_REGION = region;
  if (profile !== undefined) environment.AWS_PROFILE = profile;
}

const conflictingOptions = (first: string, second: string): WaitstateError =>
  new WaitstateError(
    'INVALID_INPUT',
    `Both ${first} and ${second} are given, and runs are in one place. Leave one out.`,
  );
