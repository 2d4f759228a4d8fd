import { BREAKS } from './breaks.ts';
import { runSeed } from './run-seed.ts';

/** The first seed that detects that a guard is disabled, and whether the seed gives the same trace again. */
export interface Detected {
  readonly name: string;
  readonly seed: number | undefined;
  readonly isSameTrace: boolean;
}

/** Disables one guard after the other, and prints what detects it as a line of JSON. */
for (const broken of Object.keys(BREAKS)) {
  let seed = 1;
  while (seed <= 1000 && (await runSeed(seed, { broken })).findings.length === 0) seed++;
  const [first, again] = [await runSeed(seed, { broken, traces: true }), await runSeed(seed, { broken, traces: true })];
  const isSameTrace = first.trace.join('\n') === again.trace.join('\n');
  const isDetected = first.findings.length > 0;
  console.log(JSON.stringify({ name: broken, seed: isDetected ? seed : undefined, isSameTrace } satisfies Detected));
}
