import type { SaveFields } from '../lambda/checkpoints/fields/save-fields.ts';
import { measureCounts, printCosts } from './costs.ts';
import { dynamoStore, type OpenStore, waitstateSystem } from './systems.ts';
import { trace } from './trace.ts';
import type { Wire } from './wire.ts';
import { CONVERSATION, RUN, turnMessages } from './works.ts';

const DAY_MS = 24 * 3_600_000;

/** Write units of a 3-step run on the store: without options, and with owner and retention. */
export interface RunCosts {
  readonly plainUnits: number;
  readonly fullUnits: number;
}

/** Prints the cost of whole runs on the store, and of pruning, deleting and sweeping them. */
export async function runCosts(wire: Wire, turns: number): Promise<RunCosts> {
  const [first, second] = [await dynamoStore(wire), await dynamoStore(wire)];
  const plain = await measureCounts(wire, () => threeSteps(first(), {}));
  const full = await measureCounts(wire, () =>
    threeSteps(second(), { owner: 'ada', retention: { days: 1 }, agent: 'trip', tags: ['vip'] }),
  );
  printCosts(
    'A 3-step run from start to end: created, three steps of 1.2 KB, SUCCEEDED (five checkpoints), indexes included.',
    { plain, 'with owner, agent, tag and retention': full },
  );

  const pruned = await conversation(wire, turns);
  const prune = await measureCounts(wire, () => pruned().prune(RUN, { keepLast: 50 }));
  const deleted = await conversation(wire, turns);
  const remove = await measureCounts(wire, () => deleted().delete(RUN));
  const later = deleted({ clock: () => Date.now() + 2 * DAY_MS });
  const sweep = await measureCounts(wire, () => later.sweep());
  printCosts(
    `Pruning a conversation of ${turns} turns to its newest 50 checkpoints, deleting one, and sweeping its remains a day later.`,
    { prune, delete: remove, sweep },
  );
  return { plainUnits: plain.writeUnits, fullUnits: full.writeUnits };
}

async function threeSteps(store: ReturnType<OpenStore>, fields: SaveFields): Promise<void> {
  let last = await store.save({ run: RUN, state: { messages: [] }, ...fields });
  for (const step of [1, 2, 3]) {
    last = await store.update(RUN, (draft) => void draft.messages.push(...turnMessages(step)), {
      step: `step ${step}`,
    });
  }
  await store.save({ run: RUN, expectedVersion: last, status: 'SUCCEEDED' });
}

async function conversation(wire: Wire, turns: number): Promise<OpenStore> {
  const open = await dynamoStore(wire);
  await trace(wire, waitstateSystem(open(), CONVERSATION), turns);
  return open;
}
