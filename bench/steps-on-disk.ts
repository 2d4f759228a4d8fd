// Runs sequential steps with results of 1 KB on this disk, with our code or as bare appends, in its own process as the
// peers do. Prints the time of the steps, and how many milliseconds a resume takes when all of them are recorded.
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { checkpointStore, embeddedStorage } from '../lambda/embedded.ts';
import { agent } from '../lambda/index.ts';
import { invoke } from './open-runtime.ts';
import type { Times } from './peers.ts';
import { stepResult } from './runtime-steps.ts';
import { stopwatch } from './stopwatch.ts';
import { RUN } from './works.ts';

const [folder = '', work = '', count] = process.argv.slice(2);
const steps = Number(count);
for (let n = 1; n <= steps; n++) stepResult(n);
const times = await (work === 'bare' ? bareAppend() : work === 'store' ? storeOnDisk() : runtimeOnDisk());
console.log(JSON.stringify(times));

/** The least that any log on this disk must do: append and sync. */
async function bareAppend(): Promise<Times> {
  const file = openSync(join(folder, 'log'), 'a');
  const stop = stopwatch();
  for (let n = 1; n <= steps; n++) {
    writeSync(file, `${stepResult(n)}\n`);
    fdatasyncSync(file);
  }
  const times = stop();
  closeSync(file);
  return times;
}

/** Our embedded store: one checkpoint with one tool result for each step. */
async function storeOnDisk(): Promise<Times> {
  const store = checkpointStore<{ done: number }>({ folder });
  let last = await store.save({ run: RUN, state: { done: 0 } });
  const stop = stopwatch();
  for (let n = 1; n <= steps; n++) {
    const toolResults = { [`call-${n}`]: stepResult(n) };
    last = await store.save({ run: RUN, expectedVersion: last, step: 'work', toolResults });
  }
  const times = stop();
  await store.close();
  const again = performance.now();
  const other = checkpointStore<{ done: number }>({ folder });
  await other.load(RUN);
  const resumeMs = performance.now() - again;
  await other.close();
  return { ...times, resumeMs };
}

/** Our runtime on the embedded store: `ctx.step` for each step, then a wait from which the run resumes. */
async function runtimeOnDisk(): Promise<Times> {
  let times: Times | undefined;
  let again = Number.NaN;
  let resumeMs = Number.NaN;
  const working = agent({
    name: 'working',
    async run(ctx) {
      const stop = stopwatch();
      for (let n = 1; n <= steps; n++) await ctx.step('work', () => stepResult(n));
      // Keep the time of the first pass, not of the replay.
      times ??= stop();
      await ctx.waitForSignal('go');
      resumeMs = performance.now() - again;
    },
  });
  const onDisk = async (use: (loaded: typeof working) => Promise<unknown>) => {
    const storage = embeddedStorage({ folder });
    await use(working.with({ storage, log: () => {} }));
    await Promise.all([storage.records.close(), storage.payloads.close()]);
  };
  await onDisk(async (loaded) => {
    await loaded.start({}, { id: RUN });
    await invoke(loaded, 'suspended');
    await loaded.run(RUN).signal('go');
  });
  again = performance.now();
  await onDisk((loaded) => invoke(loaded, 'finished'));
  if (!times) throw new Error('Expected the agent to run; it did not.');
  return { ...(times as Times), resumeMs };
}
