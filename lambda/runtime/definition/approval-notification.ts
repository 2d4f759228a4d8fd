import type { Approver, NotificationKind, Person } from '../../core/approval.ts';

/** A notification about an approval, with an approval link for each person. */
export interface ApprovalNotification {
  readonly kind: NotificationKind;
  readonly tenant: string;
  readonly run: string;
  readonly agent?: string;
  /** The id of the approval. */
  readonly approval: string;
  readonly name: string;
  readonly title: string;
  /** Present if it is a question, which needs an answer instead of an approval. */
  readonly isQuestion?: true;
  /** Whether the run is encrypted: then show its title to nobody but the approvers. */
  readonly isEncrypted: boolean;
  readonly requestedAt: Date;
  readonly deadline?: Date;
  readonly approvers: readonly Approver[];
  /**
   * One link for each person who can still decide. Anyone who has the link can decide as that person; with `for`, as the
   * delegate of someone who is away.
   */
  readonly links: readonly { readonly person: Person; readonly for?: Person; readonly url: string }[];
}
