import { Interrupted } from '../../cli/terminal/prompt-errors.ts';
import type { Terminal } from '../../cli/terminal/terminal.ts';
import { operatorsOf } from './caller.ts';
import { cleanUp, findLeftovers } from './clean-up.ts';
import type { Account, Cloud } from './cloud.ts';
import type { Interrupts } from './interrupts.ts';
import { bootstrapAdvice, keptLines, planLines } from './plan.ts';
import { SetupError } from './setup-error.ts';

/** What the exit codes mean. */
export const EXIT = { passed: 0, failed: 1, notBegun: 2, interrupted: 130 } as const;

type Verdict = keyof typeof EXIT;

export interface Integration {
  readonly cloud: Cloud;
  readonly terminal: Pick<Terminal, 'print' | 'ask'>;
  readonly interrupts: Interrupts;
  /** A name that nobody uses. */
  readonly stack: string;
  /** Whether nobody needs to be asked. */
  readonly yes: boolean;
  /** Whether what is deployed stays. */
  readonly keep: boolean;
  /** Looks at what is deployed; gives how many things are not as they must be. */
  story(apiUrl: string): Promise<number>;
}

/**
 * Deploys, looks, and removes what was deployed: whatever goes wrong once the deployment has begun, and whenever somebody
 * presses Ctrl-C. Gives the exit code.
 */
export async function integrate(test: Integration): Promise<number> {
  const { cloud, terminal, stack, keep, interrupts } = test;
  const account = await begin(test);
  if (typeof account === 'string') return EXIT[account];
  const { region } = account;
  const verdict = await deployAndLook(test, account);
  if (keep) {
    terminal.print('', ...keptLines(stack, region, (await findLeftovers(cloud, stack)) ?? []));
    return EXIT[verdict];
  }
  const isGone = await cleanUp({ cloud, terminal, stack, region, leave: interrupts.leave });
  return EXIT[verdict === 'passed' && !isGone ? 'failed' : verdict];
}

/** Where it is deployed, if it may be. */
async function begin({ cloud, terminal, stack, yes, keep, interrupts }: Integration): Promise<Account | Verdict> {
  const { print: say, ask } = terminal;
  try {
    const account = await cloud.account();
    operatorsOf(account.caller);
    say(...planLines(account, stack, keep));
    if (!(await cloud.isBootstrapped())) throw new SetupError(bootstrapAdvice(account));
    if (!yes) {
      if (!ask) throw new SetupError('Nobody can be asked here, so nothing was done. Pass --yes if you mean it.');
      const said = await ask('Go on? [y/N] ');
      if (!/^y(es)?$/i.test(said?.trim() ?? '')) throw new SetupError('Nothing was done.');
    }
    interrupts.stop.throwIfAborted();
    return account;
  } catch (error) {
    const isInterrupted = error instanceof Interrupted || interrupts.stop.aborted;
    say(isInterrupted ? 'Stopped. Nothing was done.' : `✗ ${(error as Error).message}`);
    return isInterrupted ? 'interrupted' : 'notBegun';
  }
}

async function deployAndLook(test: Integration, account: Account): Promise<Verdict> {
  const { cloud, terminal, stack, interrupts, story } = test;
  const { stop } = interrupts;
  try {
    terminal.print(`Deploying ${stack}.`);
    const { apiUrl } = await cloud.deploy(stack, operatorsOf(account.caller), stop);
    terminal.print('', `Deployed: ${apiUrl}`);
    const failed = await story(apiUrl);
    terminal.print(failed === 0 ? 'All is as it must be.' : `${failed} of these must be otherwise.`);
    return failed === 0 ? 'passed' : 'failed';
  } catch (error) {
    terminal.print('', stop.aborted ? 'Stopped.' : `✗ ${(error as Error).message}`);
    return stop.aborted ? 'interrupted' : 'failed';
  }
}
