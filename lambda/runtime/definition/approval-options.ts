import type { ApprovalRequest, Person } from '../../core/approval.ts';
import type { StandardSchema } from './standard-schema.ts';

/** The decision on an approval. */
export interface Decision<Edits = unknown, F extends Facts | undefined = Facts | undefined> {
  readonly approved: boolean;
  readonly status: 'APPROVED' | 'REJECTED' | 'EXPIRED' | 'WITHDRAWN' | 'CHANGED';
  /** The people who decided. */
  readonly by: readonly Person[];
  /** Those of them who decided for someone who is away, and for whom. */
  readonly delegated?: readonly { readonly by: Person; readonly for: Person }[];
  readonly comment?: string;
  readonly edits?: Edits;
  readonly at: Date;
  /** How many times the approval was requested; more than 1 when the facts changed or edits were invalid. */
  readonly requestCount: number;
  /** The SHA-256 of the content that was shown to the approvers. */
  readonly contentHash?: string;
  /** The facts that the decision is based on: those of the last request. */
  readonly facts: F;
}

/** The values that a decision depends on. */
export type Facts = Readonly<Record<string, unknown>>;

/** Options of `ctx.approval`: the request, and how to handle facts that change before the decision. */
export interface ApprovalOptions<Edits = unknown, F extends Facts = Facts>
  extends Omit<ApprovalRequest, 'title' | 'show' | 'facts' | 'editsSchema' | 'answerSchema'> {
  /** The title of the request. A function is called again with the new facts when they changed. */
  readonly title: string | ((facts: F) => string);
  /** The content that is shown with the title. A function is called again with the new facts when they changed. */
  readonly show?: object | string | number | bigint | boolean | null | ((facts: F) => unknown);
  readonly facts?: F;
  readonly key?: string;
  /** Lets approvers send edits with their approval; a schema also validates the edits. @default false */
  readonly editable?: boolean | StandardSchema<unknown, Edits>;
  /** Reads the facts again after the approval. When they changed, the approval is requested again. */
  readonly recheck?: () => F | Promise<F>;
  /** Compares facts, for example within a tolerance. @default deep equality */
  readonly same?: (before: F, now: F) => boolean;
  /** The maximum number of requests. @default 3 */
  readonly maxRequests?: number;
}
