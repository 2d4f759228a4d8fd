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
import { functionOptions, SOURCE_MAP_ENVIRONMENT } from './functions.ts';
import { validateEnvironmentSize } from './handlers/environment-size.ts';
import type { ResolvedProps } from './resolved-props.ts';

/** An agent from its source: a file that exports the result of `agent.handler()` as `handler`. */
export interface EntryAgentProps {
  /** The path of the file, which CDK's NodejsFunction bundles. */
  readonly entry: string;
  readonly function?: never;
  readonly hydrate?: never;
  /** The name of the export. @default "handler" */
  readonly handler?: string;
  /** In MB. @default 512 */
  readonly memorySize?: number;
  /** The limit of one invocation; the run itself has none. @default 15 minutes */
  readonly timeout?: Duration;
  /** Variables in addition to those that Waitstate sets. @default none */
  readonly environment?: Readonly<Record<string, string>>;
  /** Concurrent executions to reserve for the function. @default none */
  readonly reservedConcurrency?: number;
  /**
   * Bundling options. Each one replaces the default of the same name.
   * @default a minified ES module with a source map; AWS SDK packages that are not installed come from the Lambda
   * runtime
   */
  readonly bundling?: BundlingOptions;
  /** The folder that contains the lock file and all sources. @default found from the working directory */
  readonly projectRoot?: string;
  /** @default the lock file of the package manager, found from the working directory */
  readonly depsLockFilePath?: string;
  /** The only tenant whose runs its role may access. @default the tenants of the Waitstate */
  readonly tenant?: string;
}

/** Creates the function of an agent from its source. */
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
  const fn = new NodejsFunction(scope, id, {
    ...functionOptions(scope, id, props),
    description: `Waitstate agent: ${name}`.slice(0, MAX_DESCRIPTION_LENGTH),
    runtime: Runtime.NODEJS_24_X,
    entry,
    handler,
    timeout,
    deadLetterQueue,
    memorySize,
    environment: agentEnvironment(scope, name, environment),
    // It sets a variable that only version 2 of the AWS SDK reads.
    awsSdkConnectionReuse: false,
    bundling: { ...defaultBundling(projectRoot ?? process.cwd()), ...bundling },
    ...omitUndefined({ reservedConcurrentExecutions: reservedConcurrency, projectRoot, depsLockFilePath }),
  });
  validateEnvironmentSize(fn);
  return fn;
}

/** The given variables, with the Node.js options of all functions. */
function agentEnvironment({ node }: Construct, agent: string, given: Readonly<Record<string, string>> = {}) {
  const reserved = Object.keys(given).filter((name) => Object.values<string>(ENVIRONMENT).includes(name));
  if (reserved.length > 0)
    throw new Error(
      `${node.path}: Waitstate sets ${reserved.join(', ')}. Remove it from \`environment\` of agent "${agent}".`,
    );
  const options = [given.NODE_OPTIONS, SOURCE_MAP_ENVIRONMENT.NODE_OPTIONS].filter((option) => option !== undefined);
  return { ...given, NODE_OPTIONS: options.join(' ') };
}

/** https://docs.aws.amazon.com/lambda/latest/api/API_CreateFunction.html */
const MAX_DESCRIPTION_LENGTH = 256;

/** The AWS SDK packages that an agent may load. The Lambda runtime contains all of them. */
const SDK_PACKAGES = ['@aws-sdk/client-dynamodb', '@aws-sdk/client-s3', '@aws-sdk/client-kms'];

function defaultBundling(folder: string): BundlingOptions {
  const { resolve: resolvePackage } = createRequire(resolve(folder, 'package.json'));
  const isMissing = (name: string): boolean => {
    try {
      return !resolvePackage(name);
    } catch {
      return true;
    }
  };
  return {
    ...ESM_OPTIONS,
    format: OutputFormat.ESM,
    sourceMap: true,
    banner: REQUIRE_BANNER,
    externalModules: SDK_PACKAGES.filter(isMissing),
  };
}
