import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import type { RunInSession } from '../session.ts';
import { wrapText } from '../terminal/line.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { addApprovalCommands } from './approval-commands.ts';
import { addInspectCommands } from './inspect-commands.ts';
import { addRunCommands } from './run-commands.ts';
import { addSetupCommands } from './setup-commands.ts';
import { addStorageCommands } from './storage-commands.ts';
import { addTimeTravelCommands } from './time-travel-commands.ts';

/** The command with all its subcommands. What they do is loaded when one of them runs. */
export function createProgram(runInSession: RunInSession, terminal: Terminal): Command {
  const program = new Command('waitstate')
    .description('Agents that save every step, wait for people, and go on where they were.')
    .usage('<command> [options]')
    .version(packageVersion(), '-V, --version', 'the version of this command')
    .helpOption('-h, --help', 'this help')
    .helpCommand(false)
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void terminal.write(text),
      // Whoever catches the error says it.
      outputError: () => {},
      getOutHelpWidth: () => helpWidth(terminal),
      // Styles are shown or not before they come here.
      getOutHasColors: () => true,
    })
    .configureHelp({
      minWidthToWrap: 16,
      commandDescription: (command) => toSentence(command.description()),
      subcommandTerm: (command) => command.name(),
      styleTitle: (title) => terminal.paint('bold', title),
      styleCommandText: (name) => terminal.paint('cyan', name),
      styleSubcommandText: (name) => terminal.paint('cyan', name),
      styleOptionText: (flags) => terminal.paint('cyan', flags),
    });
  for (const add of [
    addSetupCommands,
    addInspectCommands,
    addApprovalCommands,
    addRunCommands,
    addTimeTravelCommands,
    addStorageCommands,
  ])
    add(program, runInSession);
  return program.addHelpText('after', () => ['', ...wrapText(HELP_FOOTER, helpWidth(terminal))].join('\n'));
}

const HELP_FOOTER =
  'Runs are in the folder .waitstate, unless --folder, --stack or the environment names another place. "waitstate COMMAND --help" says more, with examples.';

const toSentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;

const helpWidth = ({ columns }: Terminal): number => Math.min(columns, 100);

function packageVersion(): string {
  // Two folders up in the sources, three in what is built.
  for (const path of ['../../package.json', '../../../package.json']) {
    try {
      const { name, version } = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
      if (name === 'waitstate') return version;
    } catch {
      // Not there: the other one is.
    }
  }
  return 'unknown';
}
