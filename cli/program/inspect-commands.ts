import type { Command } from 'commander';
import type { ApprovalsOptions } from '../commands/approvals.ts';
import type { LogsOptions } from '../commands/follow/logs.ts';
import type { HistoryOptions } from '../commands/history.ts';
import type { RunsOptions } from '../commands/runs.ts';
import type { ShowOptions } from '../commands/show.ts';
import type { StateOptions } from '../commands/state.ts';
import type { CommonOptions, RunInSession } from '../session.ts';
import { appendValue, parsePositiveInteger, parseStatuses, parseStep, parseTime } from './parse-arguments.ts';
import { withExamples, withTargetOptions } from './target-options.ts';

/** Adds the commands that only read. */
export function addInspectCommands(program: Command, runInSession: RunInSession): void {
  const add = (usage: string, summary: string): Command =>
    program.command(usage).description(summary).helpGroup('Inspect:');

  withExamples(
    withTargetOptions(
      add('runs', 'list runs, last updated first')
        .option('-s, --status <status>', 'only runs with this status; separate several with commas', parseStatuses)
        .option('-a, --agent <name>', 'only runs of this agent')
        .option('-o, --owner <owner>', 'only runs of this owner')
        .option('-t, --tag <tag>', 'only runs with this tag')
        .option(
          '--step <step>',
          'only runs that failed, are waiting or ended at this step, by its name or number',
          parseStep,
        )
        .option('--id <text>', 'only runs whose id contains this text')
        .option('--since <time>', 'only runs updated since this time: a date, or how long ago, such as 2h', parseTime)
        .option('--until <time>', 'only runs updated before this time, in the same form', parseTime)
        .option('-n, --limit <number>', 'list at most this many (default: 20)', parsePositiveInteger)
        .option('--all', 'list all runs')
        .option('--count', 'count the runs of each status instead'),
    ),
    'waitstate runs --status failed --since 1d',
    'waitstate runs --status failed --step "book flight"',
    'waitstate runs --agent travel --all --json | jq -r .run',
    'waitstate runs --count',
  ).action((options: RunsOptions) =>
    runInSession(options, async (session) => (await import('../commands/runs.ts')).runs(session, options)),
  );

  withExamples(
    withTargetOptions(
      add('show <run>', 'show a run: details, timeline, pending approvals').option('--all', 'show the whole timeline'),
    ),
    'waitstate show trip-42',
    'waitstate show trip-42 --json | jq .timeline.totals',
  ).action((run: string, options: ShowOptions) =>
    runInSession(options, async (session) => (await import('../commands/show.ts')).show(session, run, options)),
  );

  withExamples(
    withTargetOptions(
      add(
        'watch <run>',
        'show a run and draw it again when something happens, until it ends; exits with code 1 if it failed',
      ).summary('watch a run until it ends'),
    ),
    'waitstate watch trip-42',
  ).action((run: string, options: CommonOptions) =>
    runInSession(options, async (session) => (await import('../commands/follow/watch.ts')).watch(session, run)),
  );

  withExamples(
    withTargetOptions(
      add('logs <run>', 'print what happened in a run, in order: checkpoints, emitted events and its status')
        .summary('print the events of a run')
        .option('-f, --follow', 'continue until the run ends, with the output of running steps')
        .option('--after <id>', 'only what happened after this event: an id from --json, or a version'),
    ),
    'waitstate logs trip-42 --follow',
    `waitstate logs trip-42 --json | jq 'select(.type == "event") | .data'`,
  ).action((run: string, options: LogsOptions) =>
    runInSession(options, async (session) => (await import('../commands/follow/logs.ts')).logs(session, run, options)),
  );

  withExamples(
    withTargetOptions(
      add('history <run>', 'list the checkpoints of a run')
        .option('--from <version>', 'start at this version', parsePositiveInteger)
        .option('--to <version>', 'end at this version', parsePositiveInteger)
        .option('-n, --limit <number>', 'list at most this many (default: the last 50)', parsePositiveInteger)
        .option('--find <text>', 'only checkpoints with this text: a step, or a word such as crash or failed')
        .option('--all', 'list all checkpoints'),
    ),
    'waitstate history trip-42',
    'waitstate history trip-42 --find crash',
    'waitstate history trip-42 --all --json | jq -c "[.version, .step, .bytes]"',
  ).action((run: string, options: HistoryOptions) =>
    runInSession(options, async (session) => (await import('../commands/history.ts')).history(session, run, options)),
  );

  withExamples(
    withTargetOptions(
      add('diff <run> [before] [after]', 'compare two checkpoints: changes in the state, and recorded results')
        .summary('compare two checkpoints')
        .addHelpText(
          'after',
          '\nA checkpoint is a version or a name. Without a checkpoint, the command compares\nthe last two. With one checkpoint, it compares that one with the newest.',
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
      add('state <run> [version]', 'print the state of a checkpoint as JSON')
        .option('-p, --path <path>', 'print only this part: messages[0].text, or a JSON pointer')
        .option('--results', 'print the recorded results instead of the state'),
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
      add('approvals [run]', 'list pending approvals; for one run, also the decided ones')
        .summary('list pending approvals')
        .option('--person <person>', 'only approvals that this person can decide, such as user:ann')
        .option('--group <group>', 'a group of the person; may be repeated', appendValue)
        .option('--agent <agent>', 'only approvals of this agent')
        .option('--name <name>', 'only approvals with this name in the code of the agent'),
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
