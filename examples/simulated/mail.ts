import { createLedger } from './ledger.ts';

export interface Mail {
  /** Under one key, one mail is sent. */
  readonly key: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Everything that was "sent". */
export const outbox = createLedger<Mail>('mail');

/** Stands in for a mail service: what would be sent is written to `examples/mail.jsonl` beside the runs. */
export async function sendMail(mail: Mail): Promise<void> {
  await outbox.record(mail);
}
