import { Stack } from 'aws-cdk-lib';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { withWaitstate } from '../with-waitstate.ts';

// With an id this long, CloudFormation generates a function name of the maximum length, 64 characters.
const LONG_ID = 'x'.repeat(64);

/** More than fit, even with the shortest names. */
const TOO_MANY = 64;

/** How many agents with names of this length fit before the construct reports that the environment is full. */
export function agentsInEnvironment(letters: number): number {
  let [fit, tooMany] = [0, TOO_MANY];
  while (tooMany - fit > 1) {
    const middle = Math.floor((fit + tooMany) / 2);
    if (doAgentsFit(middle, letters)) fit = middle;
    else tooMany = middle;
  }
  return fit;
}

/** Whether the construct accepts this many agents. Each check needs a new construct, since it resolves its agents once. */
const doAgentsFit = (agents: number, letters: number): boolean =>
  withWaitstate((waitstate) => {
    // All agents share a function: only the lengths of names count.
    const lambdaFunction = new LambdaFunction(Stack.of(waitstate), LONG_ID, {
      runtime: Runtime.NODEJS_24_X,
      code: Code.fromInline('-'),
      handler: 'index.handler',
    });
    for (let n = 0; n < agents; n++) waitstate.addAgent(String(n).padStart(letters, 'a'), { function: lambdaFunction });
    return Object.values(waitstate.handlers).every(({ node }) => node.validate().length === 0);
  });
