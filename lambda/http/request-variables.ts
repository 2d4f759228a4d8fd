import type { Operator } from '../operator/operator.ts';
import type { Caller } from './caller.ts';

/** Hono variables of an authenticated request: the caller, and the operator of their tenant. */
export type ApiEnv = { Variables: { caller: Caller; operator: Operator } };
