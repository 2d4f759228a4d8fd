import type { Command } from 'commander';
import type { CancelOptions } from '../commands/cancel.ts';
import type { SignalOptions } from '../commands/signal.ts';
import type { StartOptions } from '../commands/start.ts';
import type { CommonOptions, RunInSession } from '../session.ts';
import { appendValue, parseDuration } from './parse-arguments.ts';
import { withExamples, withTargetOptions } from './target-options.ts';

/** Adds the commands that start runs and control them. */
export function addRunCommands(program: Command, runInSession: RunInSession): void {
  const add = (usage: string, summary: string): Command =>
    program.command(usage).description(summary).helpGroup('Start and control runs:');

  withExamples(
    withTargetOptions(
      add('start <agent> [input]', 'start a run; the input is JSON, or - for standard input')
        .summary('start a run of an agent')
        .option('-i, --input <file>', 'read the input from a file')
        .option('--id <run>', 'the id of the run; an existing run with this id is not started again')
        .option('--key <key>', 'an idempotency key; the same key starts only one run')
        .option('-o, --owner <owner>', 'the owner of the run')
        .option('--as <person>', 'who requests the run, such as user:ann (default: WAITSTATE_PERSON)')
        .option('-t, --tag <tag>', 'a tag; may be repeated', appendValue)
        .option('--timeout <time>', 'how long the run may take in total, such as 1h', parseDuration)
        .option('--retention <time>', 'how long the run is kept after its last write, such as 90d', parseDuration)
        .option('-w, --wait', 'wait until the run ends, and print its result; exits with code 1 if it failed'),
    ),
    `waitstate start travel '{"to":"Lisbon"}' --id trip-42`,
    'waitstate start travel --input request.json',
    'jq .request mail.json | waitstate start travel -',
    `waitstate start travel '{"to":"Lisbon"}' --wait --json | jq .result`,
  ).action((agent: string, input: string | undefined, options: StartOptions) =>
    runInSession(options, async (session) =>
      (await import('../commands/start.ts')).start(session, { agent, given: input }, options),
    ),
  );

  withExamples(
    withTargetOptions(
      add('signal <run> <name> [value]', 'send a signal to a run; the value is JSON, or - for standard input')
        .summary('send a signal to a run')
        .option('-i, --input <file>', 'read the value from a file')
        .option('--id <id>', 'an id for the signal; signals with the same id are received once'),
    ),
    `waitstate signal chat-7 message '"hello"'`,
  ).action((run: string, name: string, value: string | undefined, options: SignalOptions) =>
    runInSession(options, async (session) =>
      (await import('../commands/signal.ts')).signal(session, { run, name, given: value }, options),
    ),
  );

  withExamples(
    withTargetOptions(
      add('cancel <run>', 'cancel a run, and undo its completed steps that have an undo function')
        .summary('cancel a run')
        .option('-r, --reason <text>', 'the reason')
        .option('-y, --yes', 'do not ask for confirmation'),
    ),
    `waitstate cancel trip-42 --reason 'The customer called.'`,
  ).action((run: string, options: CancelOptions) =>
    runInSession(options, async (session) => (await import('../commands/cancel.ts')).cancel(session, run, options)),
  );

  withExamples(
    withTargetOptions(add('retry <run>', 'resume a failed run where it stopped').summary('resume a failed run')),
    'waitstate retry trip-42',
    'waitstate runs -s failed --json | jq -r .run | xargs -n1 waitstate retry',
  ).action((run: string, options: CommonOptions) =>
    runInSession(options, async (session) => (await import('../commands/retry.ts')).retry(session, run)),
  );

  withExamples(
    withTargetOptions(
      add('pause <agent>', 'stop the runs of an agent from being executed; they stay READY').summary('pause an agent'),
    ),
    'waitstate pause travel',
  ).action((agent: string, options: CommonOptions) =>
    runInSession(options, async (session) => (await import('../commands/pause.ts')).pause(session, agent)),
  );

  withExamples(
    withTargetOptions(
      add('unpause <agent>', 'execute the runs of a paused agent again').summary('end the pause of an agent'),
    ),
    'waitstate unpause travel',
  ).action((agent: string, options: CommonOptions) =>
    runInSession(options, async (session) => (await import('../commands/pause.ts')).unpause(session, agent)),
  );
}
