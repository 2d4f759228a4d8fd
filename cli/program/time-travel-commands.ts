import type { Command } from 'commander';
import type { ForkOptions } from '../commands/fork.ts';
import type { RewindOptions } from '../commands/rewind.ts';
import type { RunInSession } from '../session.ts';
import { appendValue } from './parse-arguments.ts';
import { withExamples, withTargetOptions } from './target-options.ts';

/** Adds the commands that go on from an earlier checkpoint. */
export function addTimeTravelCommands(program: Command, runInSession: RunInSession): void {
  const add = (usage: string, summary: string): Command =>
    program.command(usage).description(summary).helpGroup('Go back:');

  withExamples(
    withTargetOptions(
      add('fork <run>', 'begins a new run at a checkpoint of another, perhaps with another state')
        .summary('begins a new run at a checkpoint')
        .option('--version <version>', 'the checkpoint, by version or name (default: the newest)')
        .option('--id <run>', 'the id of the new run')
        .option('--state <file>', 'begins with the state in this file, as JSON; - is standard input')
        .option('-e, --edit', 'opens the state in $EDITOR first')
        .option('--result <id=json>', 'another result of an operation; may be repeated', appendValue)
        .option('-o, --owner <owner>', 'whose run it is')
        .option('-t, --tag <tag>', 'a tag; may be repeated', appendValue),
    ),
    'waitstate fork trip-42 --version 14 --edit',
    'waitstate fork trip-42 --version before-payment --state cheaper.json --id trip-42-cheap',
    `waitstate fork trip-42 --version 3 --result 'search={"price":270}'`,
  ).action((run: string, options: ForkOptions) =>
    runInSession(options, async (session) => (await import('../commands/fork.ts')).fork(session, run, options)),
  );

  withExamples(
    withTargetOptions(
      add('rewind <run> <version>', 'lets a run go on from an earlier checkpoint, by version or name')
        .summary('goes on from an earlier checkpoint')
        .option('--state <file>', 'goes on with the state in this file, as JSON; - is standard input')
        .option('-e, --edit', 'opens the state in $EDITOR first')
        .option('--new-keys', 'gives the steps that run again new idempotency keys')
        .option('-y, --yes', 'does not ask'),
    ),
    'waitstate rewind trip-42 14',
    'waitstate rewind chat-7 before-payment --edit',
  ).action((run: string, version: string, options: RewindOptions) =>
    runInSession(options, async (session) =>
      (await import('../commands/rewind.ts')).rewind(session, { run, version }, options),
    ),
  );
}
