// Simulated hotels. The one named "Full House" never has a room.
import { FatalError } from 'waitstate';
import { createLedger } from '../simulated/create-ledger.ts';

export interface Stay {
  readonly hotel: string;
  readonly nights: number;
}

export interface Room {
  readonly number: string;
  readonly paid: number;
}

const NIGHT_COSTS = 140;

/** The charges of the hotels. */
export const hotelBill = createLedger('hotel');

export const hotel = {
  /** In dollars. */
  priceOf: ({ nights }: Pick<Stay, 'nights'>): number => nights * NIGHT_COSTS,

  /** Books a room, once for each key. */
  async book(stay: Stay, idempotencyKey: string): Promise<Room> {
    if (stay.hotel === 'Full House') throw new FatalError(`${stay.hotel} has no room left.`);
    const what = `${stay.nights} nights at ${stay.hotel}`;
    const line = await hotelBill.record({ key: idempotencyKey, what, amount: hotel.priceOf(stay) });
    return { number: `R-${idempotencyKey.slice(0, 6)}`, paid: line.amount };
  },
};
