import type { Work } from '../../checkpoints/format/meta.ts';
import type { Status } from '../../core/status.ts';
import { ready, resting } from '../control/work.ts';

/** How a run lies while nothing runs it. */
export interface Rest {
  readonly status: Status;
  /** That it is for another invocation at once. */
  readonly goesOn?: true;
  readonly work: (work: Work) => Work;
}

/** How a run lies that goes on in another invocation at once; one that got nothing done counts as a failed attempt. */
export function handedOn(
  ending: boolean,
  now: () => number,
  {
    claims,
    claimed,
    version,
  }: { readonly claims: number | undefined; readonly claimed: number; readonly version: number },
): Rest {
  const attempt = version > claimed ? { claims: 0 } : { claims, claimed: version + 1 };
  return {
    status: ending ? 'ENDING' : 'READY',
    goesOn: true,
    work: (work) => ({ ...ready(work, now()), ...attempt }),
  };
}

/** How a run lies that waits for something until a moment. */
export function lyingUntil(dueAt: number, waitsFor: readonly Status[], ending: boolean): Rest {
  const status = ending ? 'ENDING' : (RANK.find((each) => waitsFor.includes(each)) ?? 'SLEEPING');
  const rests = ending || undefined;
  return { status, work: (work) => ({ ...resting(work, dueAt), rests }) };
}

// What a run is said to wait for when it waits for several things.
const RANK = ['WAITING_FOR_APPROVAL', 'WAITING_FOR_SIGNAL', 'SLEEPING'] as const satisfies readonly Status[];
