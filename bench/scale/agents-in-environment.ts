import { Stack } from 'aws-cdk-lib';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { withWaitstate } from '../with-waitstate.ts';

// With an id so long, CloudFormation makes the name of a function as long as names may be: 64 letters.
const LONG_ID = 'x'.repeat(64);

/** More than fit under the shortest names. */
const TOO_MANY = 128;

/** How many agents, under names of so many letters, the construct takes before it says that an environment is full. */
export function agentsInEnvironment(letters: number): number {
  let [fit, tooMany] = [0, TOO_MANY];
  while (tooMany - fit > 1) {
    const middle = Math.floor((fit + tooMany) / 2);
    if (isTaken(middle, letters)) fit = middle;
    else tooMany = middle;
  }
  return fit;
}

/** Whether so many agents fit into a Waitstate, by its own check. A new one each time: it says once who its agents are. */
const isTaken = (agents: number, letters: number): boolean =>
  withWaitstate((hold) => {
    for (let n = 0; n < agents; n++) {
      const behind = new LambdaFunction(Stack.of(hold), `${LONG_ID}${n}`, {
        ...{ runtime: Runtime.NODEJS_24_X, code: Code.fromInline('-'), handler: 'index.handler' },
      });
      hold.addAgent(String(n).padStart(letters, 'a'), { function: behind });
    }
    return Object.values(hold.handlers).every(({ node }) => node.validate().length === 0);
  });
