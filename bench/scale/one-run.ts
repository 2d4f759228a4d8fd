import { agent } from '../../lambda/index.ts';
import { memoryStorage } from '../../lambda/memory.ts';
import { FUNCTIONS } from '../bill/lines.ts';
import { createDeployment } from '../deployment.ts';
import { freshText } from '../works.ts';
import { AWS_LIMITS } from './demands.ts';
import { recordingStorage } from './recording-storage.ts';

/** What an operation on one run uses of that run's partition, which cannot be split. */
export interface PartitionLoad {
  readonly what: string;
  readonly units: number;
  /** How many are possible per second: limited by units, and by time if they run one at a time. */
  readonly byUnits: number;
  readonly byTime: number;
}

const REPETITIONS = 20;

/** What steps and signals of one run use, counted on the real runtime. */
export async function measurePartition(): Promise<readonly PartitionLoad[]> {
  const storage = recordingStorage(memoryStorage(), FUNCTIONS.agent.memoryMB);
  const measured = async (what: string, run: string, once: (n: number) => Promise<unknown>): Promise<PartitionLoad> => {
    storage.take();
    for (let n = 0; n < REPETITIONS; n++) await once(n);
    const { ledger, ms } = storage.take();
    const units = (ledger.tableUnits.get(`default/${run}`) ?? 0) / REPETITIONS;
    return { what, units, byUnits: AWS_LIMITS.keyWrites / units, byTime: (REPETITIONS * 1000) / ms };
  };

  const found: PartitionLoad[] = [];
  const steps = agent({
    name: 'steps',
    async run(ctx) {
      const step = (n: number) => ctx.step('call', () => freshText(n, 114));
      found.push(await measured('a step of 1 KB', 'steps', step));
    },
  });
  const waits = agent({ name: 'waits', run: (ctx) => ctx.waitForSignal('never') });
  const { nextRecords } = storage;
  const { at, flow } = createDeployment({ storage, nextRecords, agents: [steps, waits], writer: '169.254.100.6/8' });
  for (const each of [steps, waits]) await at(each).start({}, { id: each.name });
  await flow();
  const signal = (n: number) => at(waits).run('waits').signal('other', n);
  found.push(await measured('a signal or the end of a child run', 'waits', signal));
  return found;
}
