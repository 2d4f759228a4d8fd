import type { Role } from './caller.ts';

/** Who may look at runs. */
export const LOOK: readonly Role[] = ['viewer', 'operator'];
/** Who may answer. */
export const ANSWER: readonly Role[] = ['approver'];
/** Who may start, change and end runs. */
export const OPERATE: readonly Role[] = ['operator'];
/** Whoever has any role. */
export const ANYBODY: readonly Role[] = ['viewer', 'approver', 'operator'];
