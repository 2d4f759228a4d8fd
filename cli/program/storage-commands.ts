import { type Command, Option } from 'commander';
import type { ExportOptions } from '../commands/export.ts';
import type { PruneOptions } from '../commands/prune.ts';
import type { RemovalOptions } from '../commands/storage/delete.ts';
import type { VerifyOptions } from '../commands/verify.ts';
import type { CommonOptions, RunInSession } from '../session.ts';
import { parsePositiveInteger } from './parse-arguments.ts';
import { withExamples, withTargetOptions } from './target-options.ts';

/** Adds the commands that verify, prune, delete and export stored runs. */
export function addStorageCommands(program: Command, runInSession: RunInSession): void {
  const add = (usage: string, summary: string): Command =>
    program.command(usage).description(summary).helpGroup('Manage storage:');

  withExamples(
    withTargetOptions(
      add('verify [run]', 'check the hash chain of a run; exits with code 7 if a checkpoint is damaged')
        .summary('check that runs are not damaged')
        .option('--all', 'check every run of one tenant (see --tenant)'),
    ),
    'waitstate verify trip-42',
    `waitstate verify --all --json | jq 'select(.ok | not)'`,
  ).action((run: string | undefined, options: VerifyOptions) =>
    runInSession(options, async (session) => (await import('../commands/verify.ts')).verify(session, run, options)),
  );

  withExamples(
    withTargetOptions(
      add('prune <run>', 'remove the content of old checkpoints permanently; they stay in the history')
        .summary('remove the content of old checkpoints')
        .requiredOption(
          '--keep-last <number>',
          'how many of the newest checkpoints to keep (required)',
          parsePositiveInteger,
        )
        .option('--no-keep-named', 'prune checkpoints with a name too')
        .option('-y, --yes', 'do not ask for confirmation'),
    ),
    'waitstate prune trip-42 --keep-last 10',
  ).action((run: string, options: PruneOptions) =>
    runInSession(options, async (session) => (await import('../commands/prune.ts')).prune(session, run, options)),
  );

  withExamples(
    withTargetOptions(
      add('delete <run>', 'delete a run permanently, with its checkpoints, approvals and payloads')
        .summary('delete a run')
        .option('-y, --yes', 'do not ask for confirmation'),
    ),
    'waitstate delete trip-42',
    'waitstate runs --status succeeded --until 90d --all --json | jq -r .run | xargs -n1 waitstate delete --yes',
  ).action((run: string, options: RemovalOptions) =>
    runInSession(options, async (session) =>
      (await import('../commands/storage/delete.ts')).deleteRun(session, run, options),
    ),
  );

  withExamples(
    withTargetOptions(
      add('shred <run>', 'destroy the key of an encrypted run, so that nobody can read its content again')
        .summary('destroy the key of an encrypted run')
        .option('-y, --yes', 'do not ask for confirmation'),
    ),
    'waitstate shred trip-42 --stack agents-prod',
  ).action((run: string, options: RemovalOptions) =>
    runInSession(options, async (session) =>
      (await import('../commands/storage/shred.ts')).shred(session, run, options),
    ),
  );

  withExamples(
    withTargetOptions(
      add('collect', 'remove payloads of one tenant that no run refers to and that are older than a day').summary(
        'remove unused payloads',
      ),
    ),
    'waitstate collect',
    'waitstate collect --stack agents-prod --json',
  ).action((options: CommonOptions) =>
    runInSession(options, async (session) => (await import('../commands/storage/collect.ts')).collect(session)),
  );

  withExamples(
    withTargetOptions(
      add('export [run]', 'export runs as JSON Lines, for archives or as training data')
        .summary('export runs as JSON Lines')
        .option('--all', 'export every run of one tenant (see --tenant)')
        .option('--out <file>', 'the file to write; it appears only when it is complete (default: standard output)')
        .addOption(
          new Option('--format <format>', 'checkpoints with their states, or the messages of each run')
            .choices(['checkpoints', 'trajectory'])
            .default('checkpoints'),
        )
        .option('--check <file>', 'check an exported file instead'),
    ),
    'waitstate export trip-42 > trip-42.jsonl',
    'waitstate export --all --out runs.jsonl && waitstate export --check runs.jsonl',
    'waitstate export --all --format trajectory --out training.jsonl',
  ).action((run: string | undefined, options: ExportOptions) =>
    runInSession(options, async (session) => (await import('../commands/export.ts')).exportRuns(session, run, options)),
  );
}
