import type { Command } from 'commander';
import type { CancelOptions } from '../commands/cancel.ts';
import type { SignalOptions } from '../commands/signal.ts';
import type { StartOptions } from '../commands/start.ts';
import type { CommonOptions, RunInSession } from '../session.ts';
import { appendValue, parseDuration } from './parse-arguments.ts';
import { withExamples, withTargetOptions } from './target-options.ts';

/** Adds the commands that start, wake and end runs. */
export function addRunCommands(program: Command, runInSession: RunInSession): void {
  const add = (usage: string, summary: string): Command =>
    program.command(usage).description(summary).helpGroup('Run:');

  withExamples(
    withTargetOptions(
      add('start <agent> [input]', 'starts a run; the input is JSON, or - for standard input')
        .summary('starts a run of an agent')
        .option('-i, --input <file>', 'reads the input from a file')
        .option('--id <run>', 'the id of the run; the same twice starts one')
        .option('--key <key>', 'your own key of this start; the same twice starts one')
        .option('-o, --owner <owner>', 'whose run it is')
        .option('-t, --tag <tag>', 'a tag; may be repeated', appendValue)
        .option('--timeout <time>', 'how long it may take altogether, such as 1h', parseDuration)
        .option('--retention <time>', 'how long it is kept after its last write, such as 90d', parseDuration),
    ),
    `waitstate start travel '{"to":"Lisbon"}' --id trip-42`,
    'waitstate start travel --input request.json',
    'jq .request mail.json | waitstate start travel -',
  ).action((agent: string, input: string | undefined, options: StartOptions) =>
    runInSession(options, async (session) =>
      (await import('../commands/start.ts')).start(session, { agent, given: input }, options),
    ),
  );

  withExamples(
    withTargetOptions(
      add('signal <run> <name> [value]', 'sends a signal to a run; the value is JSON, or - for standard input')
        .summary('sends a signal to a run')
        .option('-i, --input <file>', 'reads the value from a file')
        .option('--id <id>', 'your own id of this signal; the same twice is one'),
    ),
    `waitstate signal chat-7 message '"hello"'`,
  ).action((run: string, name: string, value: string | undefined, options: SignalOptions) =>
    runInSession(options, async (session) =>
      (await import('../commands/signal.ts')).signal(session, { run, name, given: value }, options),
    ),
  );

  withExamples(
    withTargetOptions(
      add('cancel <run>', 'ends a run; what it did is undone where the agent says how')
        .summary('ends a run')
        .option('-r, --reason <text>', 'why')
        .option('-y, --yes', 'does not ask'),
    ),
    `waitstate cancel trip-42 --reason 'The customer called.'`,
  ).action((run: string, options: CancelOptions) =>
    runInSession(options, async (session) => (await import('../commands/cancel.ts')).cancel(session, run, options)),
  );

  withExamples(
    withTargetOptions(
      add('retry <run>', 'lets a run that failed go on from where it was').summary('lets a failed run go on'),
    ),
    'waitstate retry trip-42',
    'waitstate runs -s failed --json | jq -r .run | xargs -n1 waitstate retry',
  ).action((run: string, options: CommonOptions) =>
    runInSession(options, async (session) => (await import('../commands/retry.ts')).retry(session, run)),
  );
}
