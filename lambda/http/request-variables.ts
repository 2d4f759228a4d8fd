import type { Operator } from '../operator/operator.ts';
import type { Caller } from './caller.ts';

/** What the application knows of a request: who calls, and the desk of their tenant. */
export type ApiEnv = { Variables: { caller: Caller; operator: Operator } };
