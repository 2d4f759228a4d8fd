import { Interrupted } from '../../cli/terminal/prompt-errors.ts';
import type { Terminal } from '../../cli/terminal/terminal.ts';
import { operatorsOf } from './caller.ts';
import { cleanUp, findLeftovers } from './clean-up.ts';
import type { Account, Cloud } from './cloud.ts';
import type { Interrupts } from './interrupts.ts';
import { bootstrapAdvice, keptLines, planLines } from './plan.ts';
import { SetupError } from './setup-error.ts';

/** The exit codes. */
export const EXIT = { passed: 0, failed: 1, notStarted: 2, interrupted: 130 } as const;

type Verdict = keyof typeof EXIT;

export interface Integration {
  readonly cloud: Cloud;
  readonly terminal: Pick<Terminal, 'print' | 'ask'>;
  readonly interrupts: Interrupts;
  /** An unused stack name. */
  readonly stack: string;
  /** Whether to start without a prompt. */
  readonly yes: boolean;
  /** Whether to keep the stack. */
  readonly keep: boolean;
  /** Checks the deployment and returns the number of failed checks. */
  story(apiUrl: string): Promise<number>;
}

/**
 * Deploys a stack, runs the story, and removes the stack, also after any failure or Ctrl-C once the deployment has
 * started. Returns the exit code.
 */
export async function integrate(test: Integration): Promise<number> {
  const { cloud, terminal, stack, keep, interrupts } = test;
  const account = await prepare(test);
  if (typeof account === 'string') return EXIT[account];
  const { region } = account;
  const verdict = await deployAndCheck(test, account);
  if (keep) {
    terminal.print('', ...keptLines(stack, region, (await findLeftovers(cloud, stack)) ?? []));
    return EXIT[verdict];
  }
  const isDeleted = await cleanUp({ cloud, terminal, stack, region, leave: interrupts.leave });
  return EXIT[verdict === 'passed' && !isDeleted ? 'failed' : verdict];
}

/** Checks the account and asks for confirmation. Returns the account, or the verdict if nothing is deployed. */
async function prepare({ cloud, terminal, stack, yes, keep, interrupts }: Integration): Promise<Account | Verdict> {
  const { print, ask } = terminal;
  try {
    const account = await cloud.account();
    operatorsOf(account.caller);
    print(...planLines(account, stack, keep));
    if (!(await cloud.isBootstrapped())) throw new SetupError(bootstrapAdvice(account));
    if (!yes) {
      if (!ask)
        throw new SetupError(
          'There is no terminal to ask in, so nothing was deployed. Pass --yes to run without a prompt.',
        );
      const reply = await ask('Continue? [y/N] ');
      if (!/^y(es)?$/i.test(reply?.trim() ?? '')) throw new SetupError('Nothing was deployed.');
    }
    interrupts.stop.throwIfAborted();
    return account;
  } catch (error) {
    const isInterrupted = error instanceof Interrupted || interrupts.stop.aborted;
    print(isInterrupted ? 'Stopped. Nothing was deployed.' : `✗ ${(error as Error).message}`);
    return isInterrupted ? 'interrupted' : 'notStarted';
  }
}

async function deployAndCheck(test: Integration, account: Account): Promise<Verdict> {
  const { cloud, terminal, stack, interrupts, story } = test;
  const { stop } = interrupts;
  try {
    terminal.print(`Deploying ${stack}.`);
    const { apiUrl } = await cloud.deploy(stack, operatorsOf(account.caller), stop);
    terminal.print('', `Deployed: ${apiUrl}`);
    const failed = await story(apiUrl);
    terminal.print(failed === 0 ? 'All checks passed.' : `Failed checks: ${failed}.`);
    return failed === 0 ? 'passed' : 'failed';
  } catch (error) {
    terminal.print('', stop.aborted ? 'Stopped.' : `✗ ${(error as Error).message}`);
    return stop.aborted ? 'interrupted' : 'failed';
  }
}
