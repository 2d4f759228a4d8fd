import { fileLedger } from './file-ledger.ts';

export interface Mail {
  /** The idempotency key: one mail is sent for each key. */
  readonly key: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** The mails that were "sent"; always in a file, since they contain approval links. */
export const outbox = fileLedger<Mail>('mail');

/** A simulated mail service: writes mails to `examples/mail.jsonl` in the folder with the runs. */
export async function sendMail(mail: Mail): Promise<void> {
  await outbox.record(mail);
}
