import { books } from './books.ts';

export interface Mail {
  /** The same mail under the same key is sent once. */
  readonly key: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Everything that was "sent". */
export const outbox = books('mail');

/** Stands in for a mail service: what would be sent is written to `examples/mail.jsonl` beside the runs. */
export async function sendMail({ key, to, subject, text }: Mail): Promise<void> {
  await outbox.write({ key, what: `To ${to}: ${subject}\n${text}`, amount: 0 });
}
