// Tests Waitstate in a real AWS account. Nothing else runs this: neither `npm test` nor the CI of the project has an account.
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

Tests Waitstate in your AWS account: deploys the app of this repository under a new name, uses it through its API as people
and programs do, and removes it again, also when something fails and after Ctrl-C. It says what it will do, where, and what it
costs (a few US cents), and asks before it begins.

The project itself does not run this: its tests and its CI run the same programs against stand-ins for AWS, and nothing else.

Credentials and region are found as the AWS SDK finds them (AWS_PROFILE, AWS_REGION …): those of a role or a user that may
deploy with CDK, call the API, and read what was deployed.

  --yes     begin without asking
  --keep    leave everything that was deployed
  --help    this

Ends with 0 when all is as it must be; 1 when something is not, or could not be removed; 2 when it could not begin; 130 after
Ctrl-C.`;

const OPTIONS = { yes: { type: 'boolean' }, keep: { type: 'boolean' }, help: { type: 'boolean' } } as const;

const terminal = processTerminal();

/** What the command line asks for; undefined when it cannot be. */
function asked() {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (error) {
    terminal.printErr(`✗ ${(error as Error).message}`);
    return undefined;
  }
}

async function main(): Promise<number> {
  const flags = asked();
  if (!flags) return EXIT.notBegun;
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
    ...{ cloud, terminal, interrupts, stack, yes, keep },
    story: async (apiUrl) =>
      story({ api: apiAt(apiUrl, await createSigner(apiUrl), signal), cloud, stack, signal, pause }, terminal),
  });
}

// Whoever closes the terminal still wants nothing to be left.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

process.exitCode = await main();
