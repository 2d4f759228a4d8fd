import { parseArgs } from 'node:util';
import { BREAKS } from './breaks.ts';
import { progressOf } from './progress.ts';
import { runSeed } from './run-seed.ts';
import { runSeeds } from './seeds.ts';

const HELP = `Runs agents in a world in which everything that can go wrong does, and checks what is left.

  npm run simulate -- [--seeds 1000] [--first-seed 1] [--break NAME]
  npm run simulate -- --trace SEED [--break NAME]

  --seeds COUNT      how many worlds (default 1000)
  --first-seed SEED  the first of them (default 1)
  --break NAME       takes out a guard, to see that this is noticed:
                     ${Object.keys(BREAKS).join(', ')}
  --trace SEED       runs one world and shows all that happens in it

Ends with 1 when a seed fails, and shows it; the same seed always goes the same way.`;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    'first-seed': { type: 'string', default: '1' },
    break: { type: 'string' },
    trace: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

/** Runs one seed with all that happens in it, twice: it must go the same way. */
async function show(seed: number, broken: string | undefined): Promise<void> {
  const { trace, findings } = await runSeed(seed, { broken, traces: true });
  const again = await runSeed(seed, { broken, traces: true });
  console.log(trace.join('\n'));
  const same = trace.join('\n') === again.trace.join('\n');
  console.log(
    `\nSeed ${seed}${broken ? ` without ${broken}` : ''}: ${findings.length === 0 ? 'all is well' : 'FAILED'}.`,
  );
  for (const finding of findings) console.log(`  ${finding}`);
  console.log(
    same ? 'It goes the same way every time.' : 'It went another way the second time: that is wrong by itself.',
  );
  if (findings.length > 0 || !same) process.exitCode = 1;
}

async function main(): Promise<void> {
  const [first, count] = [Number(values['first-seed']), Number(values.seeds)];
  const broken = values.break;
  if (values.help) return console.log(HELP);
  const known = broken === undefined || Object.hasOwn(BREAKS, broken);
  if (!known || !Number.isSafeInteger(first) || !(Number.isSafeInteger(count) && count > 0)) {
    console.error(HELP);
    process.exitCode = 2;
    return;
  }
  if (values.trace !== undefined) return show(Number(values.trace), broken);
  const progress = progressOf(count);
  const failed = await runSeeds({ first, count, broken }, progress.done);
  progress.end();
  if (!failed) return console.log(`${count} seeds from ${first} on: all is well.`);
  await show(failed.seed, broken);
}

await main();
