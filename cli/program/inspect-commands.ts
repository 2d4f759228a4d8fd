import type { Command } from 'commander';
import type { ApprovalsOptions } from '../commands/approvals.ts';
import type { HistoryOptions } from '../commands/history.ts';
import type { RunsOptions } from '../commands/runs.ts';
import type { ShowOptions } from '../commands/show.ts';
import type { StateOptions } from '../commands/state.ts';
import type { CommonOptions, RunInSession } from '../session.ts';
import { appendValue, parsePositiveInteger, parseStatuses, parseTime } from './parse-arguments.ts';
import { withExamples, withTargetOptions } from './target-options.ts';

/** Adds the commands that look and change nothing. */
export function addInspectCommands(program: Command, runInSession: RunInSession): void {
  const add = (usage: string, summary: string): Command =>
    program.command(usage).description(summary).helpGroup('Look:');

  withExamples(
    withTargetOptions(
      add('runs', 'lists runs, last touched first')
        .option('-s, --status <status>', 'only of a status; several by commas', parseStatuses)
        .option('-a, --agent <name>', 'only of an agent')
        .option('-o, --owner <owner>', 'only of an owner')
        .option('-t, --tag <tag>', 'only with a tag')
        .option('--id <text>', 'only those whose id has this in it')
        .option('--since <time>', 'only touched since: a date, or how long ago (2h)', parseTime)
        .option('--until <time>', 'only touched before', parseTime)
        .option('-n, --limit <number>', 'at most so many (default: 20)', parsePositiveInteger)
        .option('--all', 'all of them')
        .option('--count', 'how many there are of each status'),
    ),
    'waitstate runs --status failed --since 1d',
    'waitstate runs --agent travel --all --json | jq -r .run',
    'waitstate runs --count',
  ).action((options: RunsOptions) =>
    runInSession(options, async (session) => (await import('../commands/runs.ts')).runs(session, options)),
  );

  withExamples(
    withTargetOptions(
      add('show <run>', 'draws a run: facts, timeline, what it waits for').option(
        '--all',
        'the whole timeline, however long',
      ),
    ),
    'waitstate show trip-42',
    'waitstate show trip-42 --json | jq .timeline.totals',
  ).action((run: string, options: ShowOptions) =>
    runInSession(options, async (session) => (await import('../commands/show.ts')).show(session, run, options)),
  );

  withExamples(
    withTargetOptions(
      add('history <run>', 'lists the checkpoints of a run')
        .option('--from <version>', 'from this version', parsePositiveInteger)
        .option('--to <version>', 'up to this version', parsePositiveInteger)
        .option('-n, --limit <number>', 'at most so many (default: the last 50)', parsePositiveInteger)
        .option('--all', 'all of them'),
    ),
    'waitstate history trip-42',
    'waitstate history trip-42 --all --json | jq -c "[.version, .step, .bytes]"',
  ).action((run: string, options: HistoryOptions) =>
    runInSession(options, async (session) => (await import('../commands/history.ts')).history(session, run, options)),
  );

  withExamples(
    withTargetOptions(
      add('diff <run> [before] [after]', 'shows what changed in the state between two checkpoints')
        .summary('shows what changed in the state')
        .addHelpText(
          'after',
          '\nCheckpoints are versions or names. Without any, the last two; with one, from it to the newest.',
        ),
    ),
    'waitstate diff trip-42 3 7',
    'waitstate diff trip-42 before-payment',
  ).action((run: string, before: string | undefined, after: string | undefined, options: CommonOptions) =>
    runInSession(options, async (session) =>
      (await import('../commands/diff.ts')).diff(session, { run, before, after }),
    ),
  );

  withExamples(
    withTargetOptions(
      add('state <run> [version]', 'prints the state of a checkpoint as JSON')
        .option('-p, --path <path>', 'only this part: messages[0].text, or a JSON pointer')
        .option('--results', 'the recorded results instead of the state'),
    ),
    'waitstate state trip-42',
    'waitstate state trip-42 3 --path flight.price',
    'waitstate state trip-42 > state.json',
  ).action((run: string, version: string | undefined, options: StateOptions) =>
    runInSession(options, async (session) =>
      (await import('../commands/state.ts')).state(session, { run, version }, options),
    ),
  );

  withExamples(
    withTargetOptions(
      add('approvals [run]', 'lists what people are asked; of one run, also what was decided')
        .summary('lists what people are asked')
        .option('--person <person>', 'only what this person can answer, such as user:ann')
        .option('--group <group>', 'a group that the person is in; may be repeated', appendValue),
    ),
    'waitstate approvals',
    'waitstate approvals --person user:ann --group group:finance',
    'waitstate approvals trip-42',
  ).action((run: string | undefined, options: ApprovalsOptions) =>
    runInSession(options, async (session) =>
      (await import('../commands/approvals.ts')).approvals(session, run, options),
    ),
  );
}
