import type { Approver, Person } from '../../lambda/core/approval.ts';
import type { Chance } from './chance.ts';
import { GROUPS } from './groups.ts';

/** An approval that a simulated agent requests. */
export interface ApprovalMove {
  readonly do: 'approval';
  readonly approvers: readonly Approver[];
  readonly quorum: number;
  readonly openGroups: boolean;
  /** Whether approvers may propose changes, and whether the agent validates them. */
  readonly edits: 'none' | 'any' | 'validated';
  readonly timeoutMs?: number;
  readonly onTimeout: 'reject' | 'approve' | 'fail' | 'escalate';
  readonly escalateTo?: readonly Approver[];
  readonly escalateAfterMs?: number;
  readonly remind: boolean;
  /** How often the facts change after a decision. */
  readonly changes: number;
  readonly rechecks: boolean;
}

const MINUTE = 60_000;
const PEOPLE = ['user:ann', 'user:ben', 'user:cyd', 'user:dan'] as const satisfies readonly Person[];

/** Changes that simulated approvers propose; an agent that validates changes refuses the last one. */
export const EDITS = [{ price: 90 }, { price: 80 }, { price: -1 }] as const;

/** Generates a random approval. */
export function createApproval(chance: Chance): ApprovalMove {
  const people = chance.shuffled(PEOPLE).slice(0, chance.between(1, 4));
  const groups = chance.happens(0.35) ? chance.shuffled(GROUPS).slice(0, chance.between(1, 2)) : [];
  const approvers = groups.length > 0 && chance.happens(0.4) ? groups : [...people, ...groups];
  const rechecks = chance.happens(0.4);
  const hasTimeout = chance.happens(0.5);
  const onTimeout = chance.one<ApprovalMove['onTimeout']>(['reject', 'approve', 'fail', 'escalate']);
  return {
    do: 'approval',
    approvers,
    rechecks,
    remind: chance.happens(0.3),
    quorum: chance.between(1, groups.length > 0 ? 3 : Math.min(3, approvers.length)),
    openGroups: groups.length > 0 && chance.happens(0.3),
    edits: chance.weighted([
      [5, 'none'],
      [4, 'any'],
      [1, 'validated'],
    ]),
    onTimeout,
    changes: rechecks && chance.happens(0.5) ? chance.between(1, 3) : 0,
    ...(hasTimeout && { timeoutMs: chance.between(30, 300) * MINUTE }),
    ...createEscalation(chance, hasTimeout, onTimeout),
  };
}

function createEscalation(
  chance: Chance,
  hasTimeout: boolean,
  onTimeout: ApprovalMove['onTimeout'],
): Pick<ApprovalMove, 'escalateTo' | 'escalateAfterMs'> {
  const isNeeded = hasTimeout && onTimeout === 'escalate';
  if (!isNeeded && !chance.happens(0.2)) return {};
  const escalateTo = [chance.one<Approver>(['user:dee', 'group:audit'])];
  return hasTimeout ? { escalateTo } : { escalateTo, escalateAfterMs: chance.between(20, 90) * MINUTE };
}
