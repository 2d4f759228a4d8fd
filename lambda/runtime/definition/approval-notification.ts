import type { NotificationKind } from '../../core/approval.ts';

/** What people are told of an approval, and the link of each. */
export interface ApprovalNotification {
  readonly kind: NotificationKind;
  readonly tenant: string;
  readonly run: string;
  readonly agent?: string;
  /** The id of the approval. */
  readonly approval: string;
  readonly name: string;
  readonly title: string;
  /** That the title is of an encrypted run: tell it to nobody but those who are asked. */
  readonly isEncrypted: boolean;
  readonly askedAt: Date;
  readonly deadline?: Date;
  readonly approvers: readonly string[];
  /** For each person who can still answer; whoever has the link decides as them. */
  readonly links: readonly { readonly person: string; readonly url: string }[];
}
