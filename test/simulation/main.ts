import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { BREAKS } from './breaks.ts';
import { createProgress } from './progress.ts';
import { runSeed } from './run-seed.ts';
import { runSeeds } from './seeds.ts';

const HELP = `Runs agents in simulated worlds with crashes, lost messages and slow storage, and checks the stored runs.

  npm run simulate -- [--seeds 1000] [--first-seed 1] [--break NAME] [--jobs N]
  npm run simulate -- --trace SEED [--break NAME]

  --seeds COUNT      number of worlds to simulate (default 1000)
  --first-seed SEED  the first seed (default 1)
  --jobs N           number of threads (default: one per processor); the result does not depend on it
  --break NAME       disable a guard, to prove that the checks detect it:
                     ${Object.keys(BREAKS).join(', ')}
  --trace SEED       simulate one world and print everything that happens in it

Exits with 1 if a seed fails, and prints its trace. The simulation is deterministic: a seed always gives the same trace.`;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    'first-seed': { type: 'string', default: '1' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    break: { type: 'string' },
    trace: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

/** Runs one seed twice and prints its trace; both traces must be equal. */
async function printTrace(seed: number, broken: string | undefined): Promise<void> {
  const { trace, findings } = await runSeed(seed, { broken, traces: true });
  const again = await runSeed(seed, { broken, traces: true });
  console.log(trace.join('\n'));
  const isSame = trace.join('\n') === again.trace.join('\n');
  console.log(
    `\nSeed ${seed}${broken ? ` without ${broken}` : ''}: ${findings.length === 0 ? 'no problems found' : 'FAILED'}.`,
  );
  for (const finding of findings) console.log(`  ${finding}`);
  console.log(
    isSame
      ? 'Both runs of this seed gave the same trace.'
      : 'Expected both runs of this seed to give the same trace; they differ.',
  );
  if (findings.length > 0 || !isSame) process.exitCode = 1;
}

async function main(): Promise<void> {
  const [first, count, jobs] = [Number(values['first-seed']), Number(values.seeds), Number(values.jobs)];
  const broken = values.break;
  if (values.help) return console.log(HELP);
  const isKnown = broken === undefined || Object.hasOwn(BREAKS, broken);
  const isPositive = (value: number): boolean => Number.isSafeInteger(value) && value > 0;
  if (!isKnown || !Number.isSafeInteger(first) || !isPositive(count) || !isPositive(jobs)) {
    console.error(HELP);
    process.exitCode = 2;
    return;
  }
  if (values.trace !== undefined) return printTrace(Number(values.trace), broken);
  const progress = createProgress(count);
  const failed = await runSeeds({ first, count, broken, jobs }, progress.update);
  progress.end();
  if (!failed) return console.log(`${count} seeds, starting at ${first}: no problems found.`);
  await printTrace(failed.seed, broken);
}

await main();
