import type { ApprovalMeta } from './approval.ts';

type Kind = Pick<ApprovalMeta, 'agent' | 'name'>;

/** A text that is equal for approvals of one kind: the same agent, and the same name in its code. */
export const approvalKind = ({ agent, name }: Kind): string => JSON.stringify([agent ?? null, name]);

/** Groups approvals by their kind. The kinds, and the approvals of each, stay in the given order. */
export const groupByKind = <A extends Kind>(approvals: readonly A[]): readonly (readonly A[])[] => [
  ...Map.groupBy(approvals, approvalKind).values(),
];
