import type { Command } from 'commander';
import type { DecideOptions } from '../commands/decide.ts';
import type { WithdrawOptions } from '../commands/withdraw.ts';
import type { CommonOptions, RunInSession } from '../session.ts';
import { appendValue } from './parse-arguments.ts';
import { withExamples, withTargetOptions } from './target-options.ts';

/** Adds the commands that answer for people. */
export function addApprovalCommands(program: Command, runInSession: RunInSession): void {
  const add = (answer: 'approve' | 'reject', summary: string, ...examples: readonly string[]) => {
    const command = program
      .command(`${answer} <run> [approval]`)
      .description(`${summary}; without an id, the one that is open`)
      .summary(summary)
      .helpGroup('Answer:')
      .option('--as <person>', 'who answers, such as user:ann (default: WAITSTATE_PERSON)')
      .option('--group <group>', 'a group that they are in; may be repeated', appendValue)
      .option('-c, --comment <text>', 'why')
      .option('--edits <json>', 'what is to be done otherwise, where that is asked; @FILE reads a file');
    withExamples(withTargetOptions(command), ...examples).action(
      (run: string, approval: string | undefined, options: DecideOptions) =>
        runInSession(options, async (session) => {
          const { decide } = await import('../commands/decide.ts');
          return decide(session, { run, approval, answer }, options);
        }),
    );
  };
  add(
    'approve',
    'approves what a run asks',
    'waitstate approve trip-42 --as user:ann',
    `waitstate approve trip-42 book --as user:ann --edits '{"seat":"aisle"}'`,
  );
  add('reject', 'rejects what a run asks', `waitstate reject trip-42 --as user:ann --comment 'Too expensive.'`);

  withExamples(
    withTargetOptions(
      program
        .command('remind <run> [approval]')
        .description('tells people once more what a run asks them; without an id, the one that is open')
        .summary('reminds people of what they are asked')
        .helpGroup('Answer:'),
    ),
    'waitstate remind trip-42',
  ).action((run: string, approval: string | undefined, options: CommonOptions) =>
    runInSession(options, async (session) => (await import('../commands/remind.ts')).remind(session, run, approval)),
  );

  withExamples(
    withTargetOptions(
      program
        .command('withdraw <run> [approval]')
        .description(
          'takes back what a run asks, so that it goes on without an answer; without an id, the one that is open',
        )
        .summary('takes back what a run asks')
        .helpGroup('Answer:')
        .requiredOption('-r, --reason <text>', 'why')
        .option('-y, --yes', 'does not ask'),
    ),
    `waitstate withdraw trip-42 book --reason 'The flight is gone.'`,
  ).action((run: string, approval: string | undefined, options: WithdrawOptions) =>
    runInSession(options, async (session) =>
      (await import('../commands/withdraw.ts')).withdraw(session, run, approval, options),
    ),
  );
}
