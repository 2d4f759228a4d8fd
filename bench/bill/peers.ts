import { PRICES } from '../prices.ts';

/** A workload in the units that other services bill. */
export interface PeerUnits {
  /** AWS Lambda durable functions: a start, step or wait is one operation, a callback three. */
  readonly operations: number;
  /** AWS Step Functions: state transitions. */
  readonly transitions: number;
  /** Temporal Cloud: starts, activities, signals and timers. */
  readonly actions: number;
  /** Bytes written. */
  readonly bytes: number;
}

/** The cost of a million times a workload, in dollars. */
export function peerCosts({ operations, transitions, actions, bytes }: PeerUnits) {
  const { durableOperation, durableGbWritten, transition, actionOfFew, actionOfMany } = PRICES;
  // A million times n bytes is n / 1000 GB.
  const gigabytes = bytes / 1000;
  return {
    durableFunctions: operations * durableOperation.dollars + gigabytes * durableGbWritten.dollars,
    stepFunctions: transitions * transition.dollars,
    temporal: [actions * actionOfMany.dollars, actions * actionOfFew.dollars] as const,
  };
}
