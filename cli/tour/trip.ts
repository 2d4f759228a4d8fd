import type { Payload } from '../../lambda/checkpoints.ts';

/** The state of the travel agent of the tour. */
export interface Trip {
  readonly from: string;
  readonly to: string;
  readonly budget: number;
  readonly flight?: Flight;
  readonly seat?: string;
  readonly ticket?: Payload;
}

export interface Flight {
  readonly id: string;
  readonly price: number;
  readonly stops: number;
}

/** The result of a search, the fastest flight first. */
export const FLIGHTS: readonly Flight[] = [
  { id: 'HP 204', price: 640, stops: 0 },
  { id: 'HP 731', price: 410, stops: 1 },
  { id: 'HP 118', price: 270, stops: 2 },
];
