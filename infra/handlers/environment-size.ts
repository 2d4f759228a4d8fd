import { Stack, Token } from 'aws-cdk-lib';
import type { CfnFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';

/**
 * The limit of all variables of a function as JSON.
 * https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
 */
const MAX_BYTES = 4096;

/**
 * Fails the synthesis if the environment of a function is too large for Lambda, which otherwise only a deployment
 * shows.
 */
export function validateEnvironmentSize(fn: LambdaFunction): void {
  fn.node.addValidation({
    validate() {
      const stack = Stack.of(fn);
      const { environment } = fn.node.defaultChild as CfnFunction;
      const { variables = {} } = (stack.resolve(environment) ?? {}) as ResolvedEnvironment;
      const texts = Object.entries(variables).map(([name, value]) => [name, estimateText(stack, value)] as const);
      const bytes = jsonBytes(Object.fromEntries(texts));
      if (bytes <= MAX_BYTES) return [];
      const [[name, text] = ['', '']] = texts.toSorted(([, a], [, b]) => jsonBytes(b) - jsonBytes(a));
      return [
        `The environment of ${fn.node.path} must have at most ${MAX_BYTES} bytes; found about ${bytes}, ${jsonBytes(text)} of them in ${name}. ` +
          'Shorten the names of its functions and roles, or split agents and callers among several Waitstates.',
      ];
    },
  });
}

interface ResolvedEnvironment {
  readonly variables?: Readonly<Record<string, unknown>>;
}

const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** A text about as long as the value that CloudFormation will insert. */
function estimateText(stack: Stack, value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const [[name, args] = ['', undefined]] = Object.entries(value);
  if (name === 'Fn::Join' && Array.isArray(args))
    return args[1].map((part: unknown) => estimateText(stack, part)).join(args[0]);
  if (name === 'Ref') return PSEUDO_PARAMETERS[String(args)] ?? estimateName(stack, String(args));
  if (name === 'Fn::GetAtt' && Array.isArray(args))
    return `arn:aws:service:eu-central-1:111122223333:${estimateName(stack, args[0])}`;
  return 'x'.repeat(MAX_NAME_LENGTH);
}

const PSEUDO_PARAMETERS: Readonly<Record<string, string>> = {
  'AWS::AccountId': '111122223333',
  'AWS::Partition': 'aws',
  'AWS::Region': 'eu-central-1',
  'AWS::URLSuffix': 'amazonaws.com',
};

const MAX_NAME_LENGTH = 64;

/** A name as CloudFormation generates it: stack name, logical id and twelve random characters. */
function estimateName({ stackName }: Stack, logicalId: string): string {
  const knownName = Token.isUnresolved(stackName) ? 'x'.repeat(MAX_NAME_LENGTH) : stackName;
  return `${knownName}-${logicalId}-${'x'.repeat(12)}`.slice(0, MAX_NAME_LENGTH);
}
