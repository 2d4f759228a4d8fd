// Tool results by call id, a named checkpoint before payment, and a fork that asks "what if?".
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Checkpoint } from '../../lambda/checkpoints.ts'; // users write: 'waitstate/checkpoints'
import { checkpointStore } from '../../lambda/embedded.ts'; // users write: 'waitstate/embedded'

interface Trip {
  budget: number;
  flight?: { id: string; price: number };
}

const folder = mkdtempSync(join(tmpdir(), 'waitstate-travel-'));
const store = checkpointStore<Trip>({ folder });
let searches = 0;

/** A tool that costs money. */
async function search(): Promise<{ id: string; price: number }[]> {
  searches++;
  return [
    { id: 'direct', price: 640 },
    { id: 'two stops', price: 270 },
  ];
}

/** Calls a tool once for each call id of a run; a recorded result is never paid for again. */
async function once<T>(run: string, callId: string, call: () => Promise<T>): Promise<T> {
  const before = await store.load(run);
  if (callId in before.toolResults) return before.toolResults[callId] as T;
  const result = await call();
  await store.save({ run, expectedVersion: before, step: callId, toolResults: { [callId]: result } });
  return result;
}

async function planTrip(run: string): Promise<Checkpoint<Trip>> {
  const flights = await once(run, 'search-1', search);
  const choose = (draft: Trip) => {
    const flight = flights.find(({ price }) => price <= draft.budget);
    if (flight) draft.flight = flight;
  };
  return store.update(run, choose, { step: 'choose flight', name: 'before-payment' });
}

await store.save({ run: 'trip', step: 'read request', state: { budget: 900 } });
const trip = await planTrip('trip');
console.log(`trip: ${trip.state.flight?.id} for $${trip.state.flight?.price}`);

const edit = (draft: Trip) => {
  draft.budget = 300;
};
const cheap = await store.fork('trip', { version: trip.version, edit });
const other = await planTrip(cheap.run);
console.log(`what if the budget were $300? ${other.state.flight?.id} for $${other.state.flight?.price}`);
console.log(`searches paid: ${searches}`);

const { text } = await store.diff('trip', 1, { name: 'before-payment' });
console.log(`the trip, from the request to before the payment:\n${text}`);

await store.close();
rmSync(folder, { recursive: true });
