import { PEERS } from '../prices.ts';

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
  const { durableFunctions, stepFunctions, temporal } = PEERS;
  // A million times so many bytes are a thousandth of that in GB.
  const gigabytes = bytes / 1000;
  return {
    durableFunctions: operations * durableFunctions.operations + gigabytes * durableFunctions.writtenGb,
    stepFunctions: transitions * stepFunctions.transitions,
    temporal: [actions * temporal.actions.many, actions * temporal.actions.few] as const,
  };
}
