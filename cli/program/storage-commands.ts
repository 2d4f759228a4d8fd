import { type Command, Option } from 'commander';
import type { ExportOptions } from '../commands/export.ts';
import type { PruneOptions } from '../commands/prune.ts';
import type { VerifyOptions } from '../commands/verify.ts';
import type { RunInSession } from '../session.ts';
import { parsePositiveInteger } from './parse-arguments.ts';
import { withExamples, withTargetOptions } from './target-options.ts';

/** Adds the commands that look after what is stored. */
export function addStorageCommands(program: Command, runInSession: RunInSession): void {
  const add = (usage: string, summary: string): Command =>
    program.command(usage).description(summary).helpGroup('Keep:');

  withExamples(
    withTargetOptions(
      add('verify [run]', 'reads a whole run and says whether it is as it was written; exit code 7 if not')
        .summary('proves that runs are as they were written')
        .option('--all', 'every run of the tenant'),
    ),
    'waitstate verify trip-42',
    `waitstate verify --all --json | jq 'select(.ok | not)'`,
  ).action((run: string | undefined, options: VerifyOptions) =>
    runInSession(options, async (session) => (await import('../commands/verify.ts')).verify(session, run, options)),
  );

  withExamples(
    withTargetOptions(
      add('prune <run>', 'empties old checkpoints of a run for good; their place in history stays')
        .summary('empties old checkpoints')
        .requiredOption('--keep-last <number>', 'how many of the newest stay', parsePositiveInteger)
        .option('--no-keep-named', 'empties those with a name too')
        .option('-y, --yes', 'does not ask'),
    ),
    'waitstate prune trip-42 --keep-last 10',
  ).action((run: string, options: PruneOptions) =>
    runInSession(options, async (session) => (await import('../commands/prune.ts')).prune(session, run, options)),
  );

  withExamples(
    withTargetOptions(
      add('export [run]', 'writes runs as JSON Lines, for keeping elsewhere or for training')
        .summary('writes runs as JSON Lines')
        .option('--all', 'every run of the tenant')
        .option('--out <file>', 'to a file, which is there only when it is whole (default: standard output)')
        .addOption(
          new Option('--format <format>', 'checkpoints with states, or the messages of each run')
            .choices(['checkpoints', 'trajectory'])
            .default('checkpoints'),
        )
        .option('--check <file>', 'checks a file that was exported instead'),
    ),
    'waitstate export trip-42 > trip-42.jsonl',
    'waitstate export --all --out runs.jsonl && waitstate export --check runs.jsonl',
    'waitstate export --all --format trajectory --out training.jsonl',
  ).action((run: string | undefined, options: ExportOptions) =>
    runInSession(options, async (session) => (await import('../commands/export.ts')).exportRuns(session, run, options)),
  );
}
