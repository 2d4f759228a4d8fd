import { Stack, Token } from 'aws-cdk-lib';
import type { CfnFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';

/** All variables of a function together, as JSON. https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
const MOST_BYTES = 4096;

/** Has synthesis say that the environment of a function is too large for Lambda, which a deployment would say much later. */
export function validateEnvironmentSize(made: LambdaFunction): void {
  made.node.addValidation({
    validate() {
      const stack = Stack.of(made);
      const { variables = {} } = (stack.resolve((made.node.defaultChild as CfnFunction).environment) ?? {}) as Resolved;
      const texts = Object.entries(variables).map(([name, value]) => [name, textOf(stack, value)] as const);
      const bytes = bytesOf(Object.fromEntries(texts));
      if (bytes <= MOST_BYTES) return [];
      const [[name, text] = ['', '']] = texts.toSorted(([, a], [, b]) => bytesOf(b) - bytesOf(a));
      return [
        `The environment of ${made.node.path} takes about ${bytes} bytes, and Lambda takes ${MOST_BYTES}; ${name} has ${bytesOf(text)} of them. ` +
          'Give the functions and roles in it shorter names, or share agents and callers out among several Waitstates.',
      ];
    },
  });
}

interface Resolved {
  readonly variables?: Readonly<Record<string, unknown>>;
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** A value as long as the one that CloudFormation will put there. */
function textOf(stack: Stack, value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const [[kind, of] = ['', undefined]] = Object.entries(value);
  if (kind === 'Fn::Join' && Array.isArray(of)) return of[1].map((each: unknown) => textOf(stack, each)).join(of[0]);
  if (kind === 'Ref') return PSEUDO[String(of)] ?? nameOf(stack, String(of));
  if (kind === 'Fn::GetAtt' && Array.isArray(of))
    return `arn:aws:service:eu-central-1:111122223333:${nameOf(stack, of[0])}`;
  return 'x'.repeat(MOST_NAME);
}

const PSEUDO: Readonly<Record<string, string>> = {
  'AWS::AccountId': '111122223333',
  'AWS::Partition': 'aws',
  'AWS::Region': 'eu-central-1',
  'AWS::URLSuffix': 'amazonaws.com',
};

const MOST_NAME = 64;

/** What CloudFormation calls a resource: the names of stack and resource, and twelve letters. */
function nameOf({ stackName }: Stack, logicalId: string): string {
  const known = Token.isUnresolved(stackName) ? 'x'.repeat(MOST_NAME) : stackName;
  return `${known}-${logicalId}-${'x'.repeat(12)}`.slice(0, MOST_NAME);
}
