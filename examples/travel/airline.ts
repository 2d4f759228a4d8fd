// A simulated airline. Its searches cost money, and its fares to Tokyo rise after the first search.
import { randomUUID } from 'node:crypto';
import { FatalError } from 'waitstate';
import { createLedger } from '../simulated/create-ledger.ts';
import { simulateLatency } from '../simulated/latency.ts';

export interface Flight {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly stops: number;
  /** In dollars, at the time of the search. */
  readonly fare: number;
}

export interface Ticket {
  readonly number: string;
  readonly paid: number;
}

const SEARCH_COSTS = 0.4;
const FARES = new Map([
  ['Tokyo', { atFirst: 1200, later: 1500 }],
  ['Lisbon', { atFirst: 240, later: 240 }],
]);

/** The charges and refunds of the airline. */
export const airlineBill = createLedger('airline');

export const airline = {
  /** The flights between two cities; each search is paid for. */
  async search({ from, to }: { from: string; to: string }): Promise<readonly Flight[]> {
    const { atFirst } = fareTo(to);
    await airlineBill.record({ key: randomUUID(), what: `search ${from} to ${to}`, amount: SEARCH_COSTS });
    return from === 'Hamburg'
      ? [{ id: 'HP 204', from, to, stops: 1, fare: atFirst }]
      : [{ id: 'HP 118', from, to, stops: 0, fare: atFirst + 380 }];
  },

  /** The current fare of a flight. */
  async fareOf({ to, fare }: Flight): Promise<number> {
    await simulateLatency();
    const { atFirst, later } = fareTo(to);
    return fare + later - atFirst;
  },

  /** Books a flight at this fare; throws if the fare has changed. */
  async book(flight: Flight, fare: number, idempotencyKey: string): Promise<Ticket> {
    const now = await airline.fareOf(flight);
    if (now !== fare) throw new FatalError(`${flight.id} costs $${now} now, not $${fare}. Nothing was booked.`);
    const line = await airlineBill.record({ key: idempotencyKey, what: `ticket for ${flight.id}`, amount: fare });
    return { number: `T-${idempotencyKey.slice(0, 6)}`, paid: line.amount };
  },

  /** Cancels a ticket and refunds it, once. */
  async cancel({ number, paid }: Ticket): Promise<void> {
    await airlineBill.record({ key: `cancel ${number}`, what: `ticket ${number} cancelled`, amount: -paid });
  },
};

function fareTo(city: string): { readonly atFirst: number; readonly later: number } {
  const fare = FARES.get(city);
  if (!fare) throw new FatalError(`There are no flights to ${city}. Try ${[...FARES.keys()].join(' or ')}.`);
  return fare;
}
