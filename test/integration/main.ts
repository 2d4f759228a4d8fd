// Tests Waitstate in a real AWS account. Neither `npm test` nor CI runs this, because they have no account.
import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createSigner } from '../../cli/commands/console/signing.ts';
import { processTerminal } from '../../cli/terminal/process-terminal.ts';
import { awsCloud } from './aws/aws-cloud.ts';
import { EXIT, integrate } from './integrate.ts';
import { interruptsOf } from './interrupts.ts';
import { apiAt } from './story/api.ts';
import { story } from './story/story.ts';

const HELP = `npm run integ -- [options]

Tests Waitstate in your AWS account: deploys the app of this repository as a new stack, uses it
through its API, and removes it again, also after a failure or Ctrl-C. It prints what it does, where,
and what it costs (a few US cents), and asks before it starts.

The CI of the project does not run this. It runs the same programs against local stand-ins for AWS.

Credentials and region come from the AWS SDK (AWS_PROFILE, AWS_REGION …). The role or user must be
allowed to deploy with CDK, to call the API, and to read the deployed resources.

  --yes     start without a prompt
  --keep    keep the stack
  --help    show this help

Exit codes: 0 all checks passed; 1 a check failed, or the stack could not be removed; 2 the test
could not start; 130 stopped by Ctrl-C.`;

const OPTIONS = { yes: { type: 'boolean' }, keep: { type: 'boolean' }, help: { type: 'boolean' } } as const;

const terminal = processTerminal();

/** The options of the command line; undefined if they are invalid. */
function readOptions() {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (error) {
    terminal.printErr(`✗ ${(error as Error).message}`);
    return undefined;
  }
}

async function main(): Promise<number> {
  const flags = readOptions();
  if (!flags) return EXIT.notStarted;
  const { yes = false, keep = false, help = false } = flags;
  if (help) {
    terminal.print(...HELP.split('\n'));
    return EXIT.passed;
  }
  const interrupts = interruptsOf(process);
  const cloud = awsCloud({ line: (text) => terminal.print(`  | ${text}`) });
  const stack = `WaitstateInteg-${randomBytes(4).toString('hex')}`;
  const { stop: signal } = interrupts;
  const pause = (milliseconds: number): Promise<void> => setTimeout(milliseconds, undefined, { signal });
  return integrate({
    cloud,
    terminal,
    interrupts,
    stack,
    yes,
    keep,
    story: async (apiUrl) =>
      story({ api: apiAt(apiUrl, await createSigner(apiUrl), signal), cloud, stack, signal, pause }, terminal),
  });
}

// The stack must be removed even if the terminal was closed.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

process.exitCode = await main();
