import { WaitstateError } from '../../lambda/core/errors.ts';
import { omitUndefined } from '../../lambda/core/omit-undefined.ts';
import type { AwsTarget, FolderTarget } from './target.ts';

/** The options that choose the storage. */
export interface TargetOptions {
  readonly folder?: string;
  readonly stack?: string;
  readonly region?: string;
  readonly profile?: string;
  readonly tenant?: string;
}

/** Finds the storage: `--stack` or `--folder`, otherwise the environment, otherwise the folder `.waitstate`. */
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
    `WAITSTATE_TABLE and WAITSTATE_BUCKET must both be set; ${missing} is missing. Set it, or choose a target with --stack or --folder.`,
  );
}

/** AWS clients read the region and the profile from the environment. */
function setAwsEnvironment({ region, profile }: TargetOptions, environment: NodeJS.ProcessEnv): void {
  if (region !== undefined) environment.AWS_REGION = region;
  if (profile !== undefined) environment.AWS_PROFILE = profile;
}

const conflictingOptions = (first: string, second: string): WaitstateError =>
  new WaitstateError('INVALID_INPUT', `Use either ${first} or ${second}, not both.`);
