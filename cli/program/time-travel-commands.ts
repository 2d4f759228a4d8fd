import type { Command } from 'commander';
import type { ForkOptions } from '../commands/fork.ts';
import type { RewindOptions } from '../commands/rewind.ts';
import type { RunInSession } from '../session.ts';
import { appendValue } from './parse-arguments.ts';
import { withExamples, withTargetOptions } from './target-options.ts';

const RUNS_AGAIN =
  '\nSteps, tool calls and child runs after the checkpoint run again and repeat their\neffects. The command lists them and asks for confirmation.';

/** Adds the commands that continue from an earlier checkpoint. */
export function addTimeTravelCommands(program: Command, runInSession: RunInSession): void {
  const add = (usage: string, summary: string): Command =>
    program.command(usage).description(summary).helpGroup('Time travel:');

  withExamples(
    withTargetOptions(
      add('fork <run>', 'start a new run from a checkpoint of another run, optionally with another state')
        .summary('start a new run from a checkpoint')
        .option('--version <version>', 'the checkpoint, by version or name (default: the newest)')
        .option('--id <run>', 'the id of the new run')
        .option('--state <file>', 'start with the state in this JSON file; - is standard input')
        .option('-e, --edit', 'edit the state in $EDITOR first')
        .option('--result <id=json>', 'replace the result of an operation; may be repeated', appendValue)
        .option('-o, --owner <owner>', 'the owner of the new run')
        .option('--as <person>', 'who requests it, if the original run does not say (default: WAITSTATE_PERSON)')
        .option('-t, --tag <tag>', 'a tag; may be repeated', appendValue)
        .option('-y, --yes', 'do not ask for confirmation')
        .addHelpText('after', RUNS_AGAIN),
    ),
    'waitstate fork trip-42 --version 14 --edit',
    'waitstate fork trip-42 --version before-payment --state cheaper.json --id trip-42-cheap',
    `waitstate fork trip-42 --version 3 --result 'search={"price":270}'`,
  ).action((run: string, options: ForkOptions) =>
    runInSession(options, async (session) => (await import('../commands/fork.ts')).fork(session, run, options)),
  );

  withExamples(
    withTargetOptions(
      add('rewind <run> <version>', 'resume a run from an earlier checkpoint, by version or name')
        .summary('resume a run from an earlier checkpoint')
        .option('--state <file>', 'resume with the state in this JSON file; - is standard input')
        .option('-e, --edit', 'edit the state in $EDITOR first')
        .option('--new-keys', 'use new idempotency keys for steps that run again')
        .option('-y, --yes', 'do not ask for confirmation')
        .addHelpText('after', RUNS_AGAIN),
    ),
    'waitstate rewind trip-42 14',
    'waitstate rewind chat-7 before-payment --edit',
  ).action((run: string, version: string, options: RewindOptions) =>
    runInSession(options, async (session) =>
      (await import('../commands/rewind.ts')).rewind(session, { run, version }, options),
    ),
  );
}
