// The agent of the tour, in a separate process. It resumes from the newest checkpoint of its run, whichever process wrote
// it.
import { appendFileSync, writeSync } from 'node:fs';
import { type Checkpoint, payload } from '../../lambda/checkpoints.ts';
import { checkpointStore } from '../../lambda/embedded.ts';
import { FLIGHTS, type Flight, type Trip } from './trip.ts';

const [folder = '', run = '', bill = '', crashAfter] = process.argv.slice(2);
const store = checkpointStore<Trip>({ folder, writer: `pid ${process.pid}` });

let trip = await store.find(run);
if (!trip) {
  const state = { from: 'Hamburg', to: 'Lisbon', budget: 900 };
  trip = await store.save({ run, step: 'read request', state, agent: 'travel' });
  reportCheckpoint(trip, `${state.from} to ${state.to}, at most $${state.budget}`);
} else {
  writeLine(`resumes from version ${trip.version}`);
}

if (!trip.state.flight) {
  let flights = trip.toolResults['call-1'] as readonly Flight[] | undefined;
  if (flights) {
    writeLine('reuses the result of call-1, does not search again');
  } else {
    flights = searchFlights();
    trip = await store.save({ run, expectedVersion: trip, step: 'search flights', toolResults: { 'call-1': flights } });
    reportCheckpoint(trip, 'paid $0.40, result stored as call-1');
  }
  const { state } = trip;
  const flight = flights.find(({ price }) => price <= state.budget);
  if (!flight) throw new Error(`No flight costs at most $${state.budget}.`);
  trip = await store.save({
    run,
    expectedVersion: trip,
    step: 'choose flight',
    name: 'before-payment',
    status: 'WAITING_FOR_APPROVAL',
    state: { ...state, flight },
  });
  reportCheckpoint(trip, `${flight.id}, $${flight.price}, ${flight.stops} stops; waits for approval`);
} else if (trip.status === 'READY') {
  const { flight, seat } = trip.state;
  const receipt = { paid: flight.price };
  trip = await store.save({
    run,
    expectedVersion: trip,
    step: 'pay',
    status: 'RUNNING',
    toolResults: { 'call-2': receipt },
  });
  reportCheckpoint(trip, `$${receipt.paid}, receipt stored as call-2`);
  const ticket = payload(`Ticket for ${flight.id}, ${seat} seat\n`, { type: 'text/plain' });
  trip = await store.save({
    run,
    expectedVersion: trip,
    step: 'book flight',
    status: 'SUCCEEDED',
    state: { ...trip.state, ticket },
  });
  reportCheckpoint(trip, 'done; the ticket is a payload');
}
await store.close();

/** The tool that costs money: each call adds a line to the bill. */
function searchFlights(): readonly Flight[] {
  appendFileSync(bill, 'flight search $0.40\n');
  return FLIGHTS;
}

/** Prints a checkpoint that the store confirmed, and kills the process if this is the step to crash after. */
function reportCheckpoint({ version, step }: Checkpoint<Trip>, text: string): void {
  writeLine(`${`v${version}`.padEnd(4)}${(step ?? '').padEnd(16)}${text}`);
  if (step === crashAfter) process.kill(process.pid, 'SIGKILL');
}

// Synchronous, so that no output is lost when the process is killed.
function writeLine(text: string): void {
  writeSync(1, `${text}\n`);
}
