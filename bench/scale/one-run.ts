import { agent } from '../../lambda/index.ts';
import { memoryStorage } from '../../lambda/memory.ts';
import { FUNCTIONS } from '../bill/lines.ts';
import { deployment } from '../deployment.ts';
import { freshText } from '../works.ts';
import { MOST } from './demands.ts';
import { recordingStorage } from './recording-storage.ts';

/** What something that happens to a run takes of the partition of that run, which nothing can spread. */
export interface OnPartition {
  readonly what: string;
  readonly units: number;
  /** How many of them there can be in a second: by the units, and by the time of one after the other. */
  readonly byUnits: number;
  readonly byTime: number;
}

const TIMES = 20;

/** What steps and signals take of one run, measured on the real runtime. */
export async function onePartition(): Promise<readonly OnPartition[]> {
  const storage = recordingStorage(memoryStorage(), FUNCTIONS.agent.memoryMB);
  const measured = async (what: string, run: string, once: (n: number) => Promise<unknown>): Promise<OnPartition> => {
    storage.take();
    for (let n = 0; n < TIMES; n++) await once(n);
    const { ledger, ms } = storage.take();
    const units = (ledger.tableUnits.get(`default/${run}`) ?? 0) / TIMES;
    return { what, units, byUnits: MOST.keyWrites / units, byTime: (TIMES * 1000) / ms };
  };

  const found: OnPartition[] = [];
  const steps = agent({
    name: 'steps',
    async run(ctx) {
      const step = (n: number) => ctx.step('call', () => freshText(n, 114));
      found.push(await measured('a step of 1 KB', 'steps', step));
    },
  });
  const waits = agent({ name: 'waits', run: (ctx) => ctx.waitForSignal('never') });
  const { nextRecords } = storage;
  const { at, flow } = deployment({ storage, nextRecords, agents: [steps, waits], writer: '169.254.100.6/8' });
  for (const each of [steps, waits]) await at(each).start({}, { id: each.name });
  await flow();
  const signal = (n: number) => at(waits).run('waits').signal('other', n);
  found.push(await measured('a signal, or the end of a child run', 'waits', signal));
  return found;
}
