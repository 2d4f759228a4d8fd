import type { Command } from 'commander';
import type { DecideOptions } from '../commands/decide.ts';
import type { Go } from '../session.ts';
import { located, withExamples } from './located.ts';
import { oneMore } from './reading.ts';

/** Adds the commands that answer for people. */
export function addDeciding(program: Command, go: Go): void {
  const add = (answer: 'approve' | 'reject', summary: string, ...examples: readonly string[]) => {
    const command = program
      .command(`${answer} <run> [approval]`)
      .description(`${summary}; without an id, the one that is open`)
      .summary(summary)
      .helpGroup('Answer:')
      .option('--as <person>', 'who answers, such as user:ann (default: HOLDPOINT_PERSON)')
      .option('--group <group>', 'a group that they are in; may be repeated', oneMore)
      .option('-c, --comment <text>', 'why')
      .option('--edits <json>', 'what is to be done otherwise, where that is asked; @FILE reads a file');
    withExamples(located(command), ...examples).action(
      (run: string, approval: string | undefined, options: DecideOptions) =>
        go(options, async (session) => {
          const { decide } = await import('../commands/decide.ts');
          return decide(session, { run, approval, answer }, options);
        }),
    );
  };
  add(
    'approve',
    'approves what a run asks',
    'holdpoint approve trip-42 --as user:ann',
    `holdpoint approve trip-42 book --as user:ann --edits '{"seat":"aisle"}'`,
  );
  add('reject', 'rejects what a run asks', `holdpoint reject trip-42 --as user:ann --comment 'Too expensive.'`);
}
