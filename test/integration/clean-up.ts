import type { Terminal } from '../../cli/terminal/terminal.ts';
import type { Cloud, Leftover } from './cloud.ts';
import { leftLines, removalLines } from './plan.ts';

export interface CleanUp {
  readonly cloud: Pick<Cloud, 'empty' | 'destroy' | 'left'>;
  readonly terminal: Pick<Terminal, 'print'>;
  readonly stack: string;
  readonly region: string;
  /** Aborts when somebody wants what is left to stay. */
  readonly leave: AbortSignal;
}

// An agent that was still running may have written to the bucket after it was emptied.
const TRIES = 2;

/** Removes a stack and all that is in it; true when nothing is left. Otherwise it says what is, and how to remove it by hand. */
export async function cleanUp({ cloud, terminal, stack, region, leave }: CleanUp): Promise<boolean> {
  const { print: say } = terminal;
  /** Whether it was done; what fails must not keep the rest from being removed. */
  const tried = async (what: string, work: () => Promise<void>): Promise<boolean> => {
    if (leave.aborted) return false;
    try {
      await work();
      return true;
    } catch (error) {
      say(`  ${what} did not work: ${(error as Error).message}`);
      return false;
    }
  };
  say('', `Removing ${stack}. A second Ctrl-C leaves what is there.`);
  for (let tries = 0; tries < TRIES; tries++) {
    await tried('Emptying the bucket', () => cloud.empty(stack, leave));
    if (await tried('Removing the stack', () => cloud.destroy(stack, leave))) break;
  }
  const left = await findLeftovers(cloud, stack);
  if (left?.length === 0) {
    say(`✓ ${stack} is gone.`);
    return true;
  }
  say(
    `✗ ${stack} is not gone.`,
    ...leftLines(left),
    'To remove it by hand:',
    ...removalLines(stack, region, left ?? []),
  );
  return false;
}

/** What is left of a stack; undefined when nobody can say. */
export async function findLeftovers(
  cloud: Pick<Cloud, 'left'>,
  stack: string,
): Promise<readonly Leftover[] | undefined> {
  try {
    return await cloud.left(stack);
  } catch {
    return undefined;
  }
}
