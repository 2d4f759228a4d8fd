import { Argument, type Command } from 'commander';
import type { Shell } from '../commands/completion.ts';
import type { ConsoleOptions } from '../commands/console.ts';
import type { DevOptions } from '../dev/dev-command.ts';
import type { CommonOptions, RunInSession } from '../session.ts';
import { parsePort, parsePositiveInteger } from './parse-arguments.ts';
import { withExamples, withTargetOptions } from './target-options.ts';

/** Adds the commands that set things up. */
export function addSetupCommands(program: Command, runInSession: RunInSession): void {
  const add = (usage: string, summary: string): Command =>
    program.command(usage).description(summary).helpGroup('Begin:');

  withExamples(
    add(
      'dev [files...]',
      'serves a folder on this machine: API, console, and the agents of these files, each in a process of its own',
    )
      .summary('runs agents and the console on this machine')
      .option(
        '-p, --port <port>',
        'the port; refused when it is taken (default: that of the last time, 4180, or the next that is free)',
        parsePort,
      )
      .option('--folder <folder>', 'where runs are kept (default: WAITSTATE_FOLDER, or .waitstate)')
      .option('--tenant <tenant>', 'whose runs the console shows (default: "default")')
      .option(
        '--concurrency <number>',
        'how many runs go on at the same time (default: 8, or more on a larger machine)',
        parsePositiveInteger,
      )
      .option('--no-watch', 'does not look at files again when they change')
      .option('--open', 'opens the console in a browser'),
    'waitstate dev ./agents/*.ts',
    'waitstate dev ./agents/travel.ts --port 8080 --open',
  ).action((files: readonly string[], options: DevOptions) =>
    runInSession({}, async ({ terminal }) => (await import('../dev/dev-command.ts')).dev(terminal, files, options)),
  );

  withExamples(
    withTargetOptions(
      add('console', 'opens the console in a browser; of a stack through a proxy that signs with your AWS credentials')
        .summary('opens the console in a browser')
        .option('--no-open', 'only prints the URL')
        .option('--port <port>', 'the port of the proxy (default: any that is free)', parsePort),
    ),
    'waitstate console',
    'waitstate console --stack agents-prod --profile ops',
  ).action((options: ConsoleOptions) =>
    runInSession(options, async (session) => (await import('../commands/console.ts')).openConsole(session, options)),
  );

  withExamples(
    withTargetOptions(
      add('doctor', 'says what is wrong with a set-up and how to mend it').summary('checks the set-up'),
    ),
    'waitstate doctor',
    'waitstate doctor --stack agents-prod',
  ).action((options: CommonOptions) =>
    runInSession(options, async (session) => (await import('../commands/doctor.ts')).doctor(session)),
  );

  withExamples(
    add('completion', 'prints what makes a shell complete the words of this command')
      .summary('completes words in your shell')
      .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish'])),
    'waitstate completion bash >> ~/.bashrc',
    'waitstate completion zsh > ~/.zfunc/_waitstate   # a folder of $fpath',
    'waitstate completion fish > ~/.config/fish/completions/waitstate.fish',
  ).action((shell: Shell) =>
    runInSession({}, async (session) => (await import('../commands/completion.ts')).completion(session, shell)),
  );

  // What the scripts above call: the words typed so far, of which the last is to be completed.
  program
    .command('complete [words...]', { hidden: true })
    .helpOption(false)
    .allowUnknownOption()
    .action((words: readonly string[]) =>
      runInSession({}, async (session) => (await import('../commands/complete.ts')).complete(session, program, words)),
    );
}
