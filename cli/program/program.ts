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

/** The command with all its subcommands. The code of a subcommand is loaded only when it runs. */
export function createProgram(runInSession: RunInSession, terminal: Terminal): Command {
  const program = new Command('waitstate')
    .description('Run durable AI agents, inspect their runs and decide their approvals.')
    .usage('<command> [options]')
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand(false)
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void terminal.write(text),
      // reportError prints errors.
      outputError: () => {},
      getOutHelpWidth: () => helpWidth(terminal),
      // terminal.paint decides whether there are styles.
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
  'Commands work on the runs in the folder .waitstate, unless you choose another target with --folder, --stack or the environment. "waitstate COMMAND --help" shows the options of a command, with examples.';

const toSentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;

const helpWidth = ({ columns }: Terminal): number => Math.min(columns, 100);

function packageVersion(): string {
  // Two folders up, both in the sources and in the chunks of the built package.
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return version;
}
