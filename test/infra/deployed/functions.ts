import type { Assembly } from './assembly.ts';
import { allOf, type Deployed } from './resolve.ts';

interface FunctionProperties {
  readonly Code: { readonly S3Key: string };
  readonly Handler: string;
  readonly Role: string;
  readonly Runtime: string;
  readonly MemorySize: number;
  readonly Timeout: number;
  readonly Environment?: { readonly Variables: Readonly<Record<string, string>> };
  readonly DeadLetterConfig?: { readonly TargetArn: string };
  readonly LoggingConfig: { readonly LogGroup: string };
}

/** A function of a template. */
export interface DeployedFunction {
  /** The id of its construct: `Api`, `Agent-orders`. */
  readonly label: string;
  readonly name: string;
  readonly arn: string;
  readonly role: string;
  readonly folder: string;
  readonly handler: string;
  /** Only the variables of the template. */
  readonly variables: Readonly<Record<string, string>>;
  readonly memoryMB: number;
  readonly timeoutSeconds: number;
  /** The number of retries of an asynchronous invocation. */
  readonly retries: number;
  readonly deadLetters: string | undefined;
  readonly logGroup: string;
}

/** All functions of a template with their code from the assembly. */
export function functionsOf(deployed: Deployed, assembly: Assembly): readonly DeployedFunction[] {
  const retries = new Map(
    allOf<{ FunctionName: string; MaximumRetryAttempts: number }>(deployed, 'AWS::Lambda::EventInvokeConfig').map(
      ({ properties }) => [properties.FunctionName, properties.MaximumRetryAttempts],
    ),
  );
  return allOf<FunctionProperties>(deployed, 'AWS::Lambda::Function').map(({ path, ref, arn, properties }) => {
    const { Code, Handler, Role, Runtime, MemorySize, Timeout, Environment, LoggingConfig } = properties;
    if (Runtime !== 'nodejs24.x') throw new Error(`${path} must use nodejs24.x; found ${Runtime}.`);
    return {
      label: path.split('/').at(-1) ?? path,
      name: ref,
      arn,
      role: Role.split('/').at(-1) ?? '',
      folder: assembly.codeAt(Code.S3Key),
      handler: Handler,
      variables: Environment?.Variables ?? {},
      memoryMB: MemorySize,
      timeoutSeconds: Timeout,
      retries: retries.get(ref) ?? 2,
      deadLetters: properties.DeadLetterConfig?.TargetArn,
      logGroup: LoggingConfig.LogGroup,
    };
  });
}

/** The simulated surroundings of a function. */
interface Surroundings {
  readonly region: string;
  readonly accessKeyId: string;
  readonly endpoint: string;
  readonly folder: string;
}

/**
 * The environment of a function: the variables of the template and those of Lambda.
 * https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-runtime
 */
export function environmentOf(
  { name, handler, variables, memoryMB, folder, logGroup }: DeployedFunction,
  { region, accessKeyId, endpoint, folder: own }: Surroundings,
): Record<string, string> {
  return {
    ...variables,
    _HANDLER: handler,
    LAMBDA_TASK_ROOT: folder,
    LAMBDA_RUNTIME_DIR: '/var/runtime',
    LANG: 'en_US.UTF-8',
    TZ: ':UTC',
    PATH: '/usr/local/bin:/usr/bin:/bin',
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
    AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
    AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
    AWS_LAMBDA_FUNCTION_NAME: name,
    AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memoryMB),
    AWS_LAMBDA_LOG_GROUP_NAME: logGroup,
    AWS_LAMBDA_LOG_STREAM_NAME: 'stream',
    AWS_LAMBDA_LOG_FORMAT: 'JSON',
    AWS_LAMBDA_LOG_LEVEL: 'INFO',
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: 'secret',
    AWS_SESSION_TOKEN: 'session',
    // These two replace the AWS endpoints and the /tmp folder of the function.
    AWS_ENDPOINT_URL: endpoint,
    TMPDIR: own,
    // Tests set it, because cold starts take most of their time. Measurements do not.
    ...(process.env.NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }),
  };
}
