import type { Command } from 'commander';
import type { DelegateOptions, DelegationsOptions } from '../commands/decide/delegate.ts';
import type { RunInSession } from '../session.ts';
import { appendValue, parseFutureTime } from './parse-arguments.ts';
import { withExamples, withTargetOptions } from './target-options.ts';

/** Adds the commands that make, list and end delegations. */
export function addDelegationCommands(program: Command, runInSession: RunInSession): void {
  withExamples(
    withTargetOptions(
      program
        .command('delegate [delegate]')
        .description(
          'let someone answer approvals and questions for a person who is away; replaces an earlier delegation. With --end, end it early.',
        )
        .summary('let someone answer for a person who is away')
        .helpGroup('Decide approvals:')
        .option('--as <person>', 'who is away, such as user:ann (default: WAITSTATE_PERSON)')
        .option('--until <time>', 'when it ends: a date, or a duration from now such as 5d', parseFutureTime)
        .option('--from <time>', 'when it begins (default: now)', parseFutureTime)
        .option(
          '--group <group>',
          'a group of the person, whose approvals the delegate finds in the inbox; may be repeated',
          appendValue,
        )
        .option('--end', 'end the delegation of the person'),
    ),
    'waitstate delegate user:cho --as user:ann --until 5d',
    'waitstate delegate user:cho --as user:ann --from 2026-07-01 --until 2026-07-15 --group group:finance',
    'waitstate delegate --end --as user:ann',
  ).action((delegate: string | undefined, options: DelegateOptions) =>
    runInSession(options, async (session) =>
      (await import('../commands/decide/delegate.ts')).delegate(session, delegate, options),
    ),
  );

  withExamples(
    withTargetOptions(
      program
        .command('delegations')
        .description('list who answers for whom: the delegations that have not ended')
        .summary('list who answers for whom')
        .helpGroup('Decide approvals:')
        .option('--person <person>', 'only those from and to this person, such as user:ann'),
    ),
    'waitstate delegations --person user:ann',
  ).action((options: DelegationsOptions) =>
    runInSession(options, async (session) =>
      (await import('../commands/decide/delegate.ts')).delegations(session, options),
    ),
  );
}
