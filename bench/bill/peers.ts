import { PRICES } from '../prices.ts';

/** What a piece of work is to others, once: what they count, and the data. */
export interface PeerWork {
  /** AWS Lambda durable functions: starts, steps and waits; a callback is three. */
  readonly operations: number;
  /** AWS Step Functions: states that are entered. */
  readonly transitions: number;
  /** Temporal Cloud: starts, activities, signals and timers. */
  readonly actions: number;
  /** Bytes that are written. */
  readonly bytes: number;
}

/** What a million of it cost there, in dollars. */
export function peerCosts({ operations, transitions, actions, bytes }: PeerWork) {
  const { durableOperation, durableGbWritten, transition, actionOfFew, actionOfMany } = PRICES;
  // A million times so many bytes are a thousandth of that in GB.
  const gigabytes = bytes / 1000;
  return {
    durableFunctions: operations * durableOperation.dollars + gigabytes * durableGbWritten.dollars,
    stepFunctions: transitions * transition.dollars,
    temporal: [actions * actionOfMany.dollars, actions * actionOfFew.dollars] as const,
  };
}
