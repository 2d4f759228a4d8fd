import type { Command, Option } from 'commander';
import { omitUndefined } from '../../lambda/core/omit-undefined.ts';
import { hasEnded, STATUSES, type Status } from '../../lambda/core/status.ts';
import type { CommonOptions, Session } from '../session.ts';
import { escapeControls, hasNoControls } from '../terminal/escape-controls.ts';

/** What a word may become, and what that is. */
interface Candidate {
  readonly word: string;
  readonly about: string;
}

/** Prints what the last of the words may become, a line each: the word, a tab, what it is. */
export async function complete(session: Session, program: Command, words: readonly string[]): Promise<void> {
  const last = words.at(-1) ?? '';
  const found = await candidates(session, program, words.slice(0, -1), last);
  const lines = found
    .filter(({ word }) => word.startsWith(last) && hasNoControls(word))
    .map(({ word, about }) => `${word}\t${escapeControls(about)}\n`);
  await session.terminal.write(lines.join(''));
}

async function candidates(
  session: Session,
  program: Command,
  before: readonly string[],
  last: string,
): Promise<readonly Candidate[]> {
  const command = program.commands.find((each) => each.name() === before[0]);
  if (!command) return before.length > 0 ? [] : last.startsWith('-') ? optionsOf(program) : commandsOf(program);
  const option = command.options.find((each) => isCalled(each, before.at(-1)));
  if (option && (option.required || option.optional)) return valuesOf(option);
  if (last.startsWith('-')) return optionsOf(command);
  return argumentsOf(session, command, before.slice(1));
}

const isCalled = ({ short, long }: Option, word: string | undefined): boolean =>
  word !== undefined && (word === short || word === long);

const commandsOf = (program: Command): readonly Candidate[] =>
  program
    .createHelp()
    .visibleCommands(program)
    .map((each) => ({ word: each.name(), about: each.summary() || each.description() }));

const optionsOf = (command: Command): readonly Candidate[] =>
  command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long, description }) => (long ? [{ word: long, about: description }] : []));

const valuesOf = ({ argChoices, long }: Option): readonly Candidate[] =>
  (argChoices ?? (long === '--status' ? STATUSES : [])).map((word) => ({ word, about: '' }));

/** The runs of the folder, where a run is wanted; those of a stack are too far away to be asked while somebody types. */
async function argumentsOf(
  session: Session,
  command: Command,
  typed: readonly string[],
): Promise<readonly Candidate[]> {
  const given = positional(command, typed);
  const wanted = command.registeredArguments[given.length];
  if (wanted?.argChoices) return wanted.argChoices.map((word) => ({ word, about: '' }));
  if (wanted?.name() !== 'run' || typed.includes('--stack')) return [];
  return runsOf(session, FITTING[command.name()], optionIn(typed, '--folder'), optionIn(typed, '--tenant'));
}

const optionIn = (typed: readonly string[], flag: string): string | undefined =>
  typed.includes(flag) ? typed[typed.indexOf(flag) + 1] : undefined;

/** The words that are no options and no values of options. */
function positional(command: Command, typed: readonly string[]): readonly string[] {
  const takesValue = (word = '') =>
    command.options.some((option) => isCalled(option, word) && (option.required || option.optional));
  return typed.filter((word, i) => !word.startsWith('-') && !takesValue(typed[i - 1]));
}

const MOST_RUNS = 100;

/** The runs for which a command is, by their status. */
const FITTING: { readonly [command: string]: readonly Status[] } = {
  ...Object.fromEntries(['approve', 'reject', 'remind', 'withdraw'].map((name) => [name, ['WAITING_FOR_APPROVAL']])),
  retry: ['FAILED'],
  cancel: STATUSES.filter((status) => !hasEnded(status)),
  signal: STATUSES.filter((status) => !hasEnded(status)),
};

async function runsOf(
  { terminal }: Session,
  status: readonly Status[] | undefined,
  folder?: string,
  tenant?: string,
): Promise<readonly Candidate[]> {
  const { WAITSTATE_TABLE: table, WAITSTATE_BUCKET: bucket } = terminal.environment;
  if (folder === undefined && (table || bucket)) return [];
  const where: CommonOptions = { ...(folder !== undefined && { folder }), ...(tenant !== undefined && { tenant }) };
  const [{ resolveTarget: whereIs }, { openTarget: openPlace }] = await Promise.all([
    import('../target/resolve-target.ts'),
    import('../target/open-target.ts'),
  ]);
  try {
    const place = await openPlace(await whereIs(where, terminal.environment), { tenant, log: () => {} });
    try {
      const { runs } = await place.operator.runs({ limit: MOST_RUNS, ...omitUndefined({ status }) });
      return runs.map(({ run, status, agent = '' }) => ({ word: run, about: `${status} ${agent}`.trim() }));
    } finally {
      await place.close();
    }
  } catch {
    // Whoever types wants no error here.
    return [];
  }
}
