import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { Duration } from 'aws-cdk-lib';
import { type Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { type BundlingOptions, NodejsFunction, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { omitUndefined } from '../lambda/core/omit-undefined.ts';
import { ENVIRONMENT } from '../lambda/environment/names.ts';
import { ESM_OPTIONS, REQUIRE_BANNER } from './bundling.ts';
import { enableTracing, functionOptions, SOURCE_MAP_ENVIRONMENT } from './functions.ts';
import { validateEnvironmentSize } from './handlers/environment-size.ts';
import type { ResolvedProps } from './resolved-props.ts';

/** An agent by its source: a file that exports `handler`, of `agent.handler()`. */
export interface EntryAgentProps {
  /** The file; CDK's NodejsFunction bundles it. */
  readonly entry: string;
  readonly function?: never;
  readonly hydrate?: never;
  /** The name of the export. @default "handler" */
  readonly handler?: string;
  /** In MB. @default 512 */
  readonly memorySize?: number;
  /** How long one invocation may take; the run may take for ever. @default 15 minutes */
  readonly timeout?: Duration;
  /** Beside what Waitstate sets. @default nothing */
  readonly environment?: Readonly<Record<string, string>>;
  /** How many may run at once, reserved for it. @default none is reserved */
  readonly reservedConcurrency?: number;
  /** Overrides how the source is bundled; what is given replaces that of the default whole. @default a minified module with a source map; what of the AWS SDK is not installed is Lambda's */
  readonly bundling?: BundlingOptions;
  /** The folder of the lock file, which all sources are in. @default found from the working directory */
  readonly projectRoot?: string;
  /** @default where the package manager put it */
  readonly depsLockFilePath?: string;
  /** The only tenant whose runs its role may touch. @default those of the Waitstate */
  readonly tenant?: string;
}

/** A function made of the source of an agent. */
export function createEntryFunction(
  scope: Construct,
  id: string,
  agent: EntryAgentProps,
  {
    name,
    props,
    deadLetterQueue,
  }: { readonly name: string; readonly props: ResolvedProps; readonly deadLetterQueue: IQueue },
): LambdaFunction {
  const { entry, handler = 'handler', memorySize = 512, timeout = Duration.minutes(15), environment, bundling } = agent;
  const { reservedConcurrency, projectRoot, depsLockFilePath } = agent;
  const made = new NodejsFunction(scope, id, {
    ...functionOptions(scope, id, props),
    description: `An agent of Waitstate: ${name}`.slice(0, MOST_DESCRIPTION),
    runtime: Runtime.NODEJS_24_X,
    ...{ entry, handler, timeout, deadLetterQueue, memorySize },
    environment: variablesWith(scope, name, environment),
    // Of the old SDK.
    awsSdkConnectionReuse: false,
    bundling: { ...bundlingOf(projectRoot ?? process.cwd()), ...bundling },
    ...omitUndefined({ reservedConcurrentExecutions: reservedConcurrency, projectRoot, depsLockFilePath }),
  });
  enableTracing(made);
  validateEnvironmentSize(made);
  return made;
}

/** The variables of an agent of one's own, with what all functions have. */
function variablesWith({ node }: Construct, agent: string, given: Readonly<Record<string, string>> = {}) {
  const ours = Object.keys(given).filter((name) => Object.values<string>(ENVIRONMENT).includes(name));
  if (ours.length > 0)
    throw new Error(`${node.path}: agent "${agent}" must leave ${ours.join(', ')} to Waitstate, which sets it.`);
  const options = [given.NODE_OPTIONS, SOURCE_MAP_ENVIRONMENT.NODE_OPTIONS].filter((option) => option !== undefined);
  return { ...given, NODE_OPTIONS: options.join(' ') };
}

/** https://docs.aws.amazon.com/lambda/latest/api/API_CreateFunction.html */
const MOST_DESCRIPTION = 256;

/** What an agent may load of the AWS SDK; Lambda's runtime has all of it. */
const SDK = ['@aws-sdk/client-dynamodb', '@aws-sdk/client-s3', '@aws-sdk/client-kms'];

function bundlingOf(folder: string): BundlingOptions {
  const { resolve: find } = createRequire(resolve(folder, 'package.json'));
  const isMissing = (name: string): boolean => {
    try {
      return !find(name);
    } catch {
      return true;
    }
  };
  return {
    ...ESM_OPTIONS,
    format: OutputFormat.ESM,
    sourceMap: true,
    banner: REQUIRE_BANNER,
    externalModules: SDK.filter(isMissing),
  };
}
