import type { SaveFields } from '../lambda/checkpoints/save.ts';
import { measureCounts, printCosts } from './costs.ts';
import { dynamoStore, type OpenStore, waitstateSystem } from './systems.ts';
import { trace } from './trace.ts';
import type { Wire } from './wire.ts';
import { CONVERSATION, RUN, turnMessages } from './works.ts';

const DAY_MS = 24 * 3_600_000;

export interface RunCosts {
  /** Write units of a 3-step run: without anything, and with owner and retention. */
  readonly plainUnits: number;
  readonly fullUnits: number;
}

/** Prints what whole runs cost, and what it costs to get rid of them. */
export async function runCosts(wire: Wire, turns: number): Promise<RunCosts> {
  const [first, second] = [await dynamoStore(wire), await dynamoStore(wire)];
  const plain = await measureCounts(wire, () => threeSteps(first(), {}));
  const full = await measureCounts(wire, () =>
    threeSteps(second(), { owner: 'ada', retentionSeconds: 86_400, agent: 'trip', tags: ['vip'] }),
  );
  printCosts(
    'A 3-step run from start to end: begun, three steps of 1.2 KB, SUCCEEDED (five checkpoints), indexes included.',
    { plain, 'with owner, agent, tag and retention': full },
  );

  const pruned = await conversation(wire, turns);
  const prune = await measureCounts(wire, () => pruned().prune(RUN, { keepLast: 50 }));
  const deleted = await conversation(wire, turns);
  const remove = await measureCounts(wire, () => deleted().delete(RUN));
  const later = deleted({ clock: () => Date.now() + 2 * DAY_MS });
  const sweep = await measureCounts(wire, () => later.sweep());
  printCosts(
    `What it costs to prune a conversation of ${turns} turns to its newest 50 checkpoints, to delete one, and to sweep what is left of it a day later.`,
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
