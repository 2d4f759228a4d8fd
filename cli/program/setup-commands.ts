import { Argument, type Command } from 'commander';
import type { Shell } from '../commands/completion.ts';
import type { ConformanceOptions } from '../commands/conformance.ts';
import type { ConsoleOptions } from '../commands/console.ts';
import type { DevOptions } from '../dev/dev-command.ts';
import type { CommonOptions, RunInSession } from '../session.ts';
import { appendValue, parsePort, parsePositiveInteger } from './parse-arguments.ts';
import { withExamples, withTargetOptions } from './target-options.ts';

/** Adds the commands for the local server, the console and the setup. */
export function addSetupCommands(program: Command, runInSession: RunInSession): void {
  const add = (usage: string, summary: string): Command =>
    program.command(usage).description(summary).helpGroup('Set up:');

  withExamples(
    add(
      'dev [files...]',
      'start the local server: API, console, and the agents in these files, each run in its own process',
    )
      .summary('run agents and the console on this machine')
      .option(
        '-p, --port <port>',
        'the port to listen on (default: the port of the last start, 4180, or the next free port)',
        parsePort,
      )
      .option('--folder <folder>', 'where runs are stored (default: WAITSTATE_FOLDER, or .waitstate)')
      .option('--tenant <tenant>', 'the tenant that the console shows (default: "default")')
      .option(
        '--concurrency <number>',
        'how many runs execute at the same time (default: 8, or the number of CPUs if that is larger)',
        parsePositiveInteger,
      )
      .option(
        '--exec <command>',
        'a command that runs agents in another language; each process gets one run on its standard input; may be repeated',
        appendValue,
      )
      .option('--no-watch', 'do not reload files when they change')
      .option('--open', 'open the console in a browser'),
    'waitstate dev ./agents/*.ts',
    'waitstate dev ./agents/travel.ts --port 8080 --open',
    'waitstate dev --exec "python agent.py"',
  ).action((files: readonly string[], options: DevOptions) =>
    runInSession({}, async ({ terminal }) => (await import('../dev/dev-command.ts')).dev(terminal, files, options)),
  );

  withExamples(
    withTargetOptions(
      add('console', 'open the console in a browser; for a stack, through a proxy that signs with your AWS credentials')
        .summary('open the console in a browser')
        .option('--no-open', 'only print the URL')
        .option('--port <port>', 'the port of the proxy (default: any free port)', parsePort),
    ),
    'waitstate console',
    'waitstate console --stack agents-prod --profile ops',
  ).action((options: ConsoleOptions) =>
    runInSession(options, async (session) => (await import('../commands/console.ts')).openConsole(session, options)),
  );

  withExamples(
    withTargetOptions(add('doctor', 'check your setup and say how to fix what is wrong').summary('check your setup')),
    'waitstate doctor',
    'waitstate doctor --stack agents-prod',
  ).action((options: CommonOptions) =>
    runInSession(options, async (session) => (await import('../commands/doctor.ts')).doctor(session)),
  );

  withExamples(
    add(
      'conformance',
      "test a client in another language, or a server, against the JSON protocol. Without options, it tests this package's own server and reference client.",
    )
      .summary('test a client in another language, or a server')
      .option('--exec <command>', 'the command of your agent; it runs on a temporary server')
      .option('--url <url>', 'the server to test')
      .option('--key <key>', 'the key of the server, sent as a bearer token (default: WAITSTATE_KEY)')
      .option('--worker', 'test your own worker, which must already be running and claim runs from --url')
      .option('--agent <name>', 'the name of the agent that executes the scripts', 'conformance')
      .option('--json', 'print JSON Lines'),
    'waitstate conformance --exec "python agent.py"',
    'waitstate conformance --url http://127.0.0.1:4180 --key "$WAITSTATE_KEY"',
  ).action((options: ConformanceOptions) =>
    runInSession(options, async (session) =>
      (await import('../commands/conformance.ts')).conformance(session, options),
    ),
  );

  withExamples(
    add('completion', 'print a completion script for your shell')
      .summary('print a completion script for your shell')
      .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish'])),
    'waitstate completion bash >> ~/.bashrc',
    'waitstate completion zsh > ~/.zfunc/_waitstate   # a folder in $fpath',
    'waitstate completion fish > ~/.config/fish/completions/waitstate.fish',
  ).action((shell: Shell) =>
    runInSession({}, async (session) => (await import('../commands/completion.ts')).completion(session, shell)),
  );

  // The completion scripts call this with the words typed so far; the last one is to be completed.
  program
    .command('complete [words...]', { hidden: true })
    .helpOption(false)
    .allowUnknownOption()
    .action((words: readonly string[]) =>
      runInSession({}, async (session) => (await import('../commands/complete.ts')).complete(session, program, words)),
    );
}
