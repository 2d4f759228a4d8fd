import type { Terminal } from '../../../cli/terminal/terminal.ts';
import { ANSWERS, LINKS, UNSIGNED } from './access.ts';
import type { Check, Scene } from './check.ts';
import { CANCEL, REFUND } from './refund.ts';
import { SAVING } from './saving.ts';
import { DEAD_LETTERS, DOCTOR, SCHEDULED, TIMER } from './upkeep.ts';

/**
 * Runs all checks on a deployment, prints their results, and returns the number of failures. Rejects only when stopped.
 */
export async function story(scene: Scene, { print }: Pick<Terminal, 'print'>): Promise<number> {
  let failed = 0;
  const check = async (each: Check, finding = problemOf(each, scene)): Promise<boolean> => {
    const problem = await finding;
    scene.signal.throwIfAborted();
    print(`${problem === undefined ? '✓' : '✗'} ${each.name}`);
    if (problem === undefined) return true;
    print(`  ${problem}`);
    failed += 1;
    return false;
  };

  if (!(await check(ANSWERS))) {
    print('  The other checks were skipped.');
    return failed;
  }
  // It takes longer than all other checks together, so it runs in parallel.
  const timer = problemOf(TIMER, scene);
  for (const each of [UNSIGNED, LINKS, REFUND, SAVING, CANCEL]) await check(each);
  await check(TIMER, timer);
  for (const each of [SCHEDULED, DEAD_LETTERS, DOCTOR]) await check(each);
  return failed;
}

/** The reason why a check fails; undefined if it passes. */
async function problemOf(check: Check, scene: Scene): Promise<string | undefined> {
  try {
    await check.run(scene);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
