import type { Terminal } from '../../cli/terminal/terminal.ts';
import type { Cloud, Leftover } from './cloud.ts';
import { leftLines, removalLines } from './plan.ts';

export interface CleanUp {
  readonly cloud: Pick<Cloud, 'empty' | 'destroy' | 'left'>;
  readonly terminal: Pick<Terminal, 'print'>;
  readonly stack: string;
  readonly region: string;
  /** Aborts when the user wants to stop the clean-up. */
  readonly leave: AbortSignal;
}

// An agent that is still running may write to the bucket after it was emptied.
const TRIES = 2;

/**
 * Removes a stack with its content. Returns true if nothing is left; otherwise prints the rest and how to remove it by
 * hand.
 */
export async function cleanUp({ cloud, terminal, stack, region, leave }: CleanUp): Promise<boolean> {
  const { print } = terminal;
  /** Runs one step and reports its failure, so that the next steps still run. */
  const attempt = async (what: string, work: () => Promise<void>): Promise<boolean> => {
    if (leave.aborted) return false;
    try {
      await work();
      return true;
    } catch (error) {
      print(`  ${what} failed: ${(error as Error).message}`);
      return false;
    }
  };
  print('', `Removing ${stack}. Press Ctrl-C again to stop and keep the rest.`);
  for (let tries = 0; tries < TRIES; tries++) {
    await attempt('Emptying the bucket', () => cloud.empty(stack, leave));
    if (await attempt('Removing the stack', () => cloud.destroy(stack, leave))) break;
  }
  const left = await findLeftovers(cloud, stack);
  if (left?.length === 0) {
    print(`✓ ${stack} is deleted.`);
    return true;
  }
  print(
    `✗ ${stack} is not deleted.`,
    ...leftLines(left),
    'To remove it by hand:',
    ...removalLines(stack, region, left ?? []),
  );
  return false;
}

/** The remaining resources of a stack; undefined if they cannot be listed. */
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
