import { agent } from '../../lambda/index.ts';
import { memoryStorage } from '../../lambda/memory.ts';
import { FUNCTIONS } from '../bill/lines.ts';
import { deployment } from '../deployment.ts';
import { freshText } from '../works.ts';
import { MOST } from './demands.ts';
import { recordingStorage } from './recording-storage.ts';

/** What an operation on one run uses of that run's partition, which cannot be split. */
export interface OnPartition {
  readonly what: string;
  readonly units: number;
  /** How many are possible per second: limited by units, and by time if they run one at a time. */
  readonly byUnits: number;
  readonly byTime: number;
}

const TIMES = 20;

/** What steps and signals of one run use, counted on the real runtime. */
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
  found.push(await measured('a signal or the end of a child run', 'waits', signal));
  return found;
}
