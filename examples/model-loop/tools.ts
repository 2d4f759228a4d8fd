// The tools of the assistant. The customers are made up, and the mail is simulated.
import type { StepContext } from 'waitstate';
import { z } from 'zod';
import { simulateLatency } from '../simulated/latency.ts';
import { sendMail } from '../simulated/mail.ts';

/** What a model may call. */
export interface Tool {
  readonly description: string;
  readonly input: z.ZodObject;
  /** For what cannot be taken back: what a person is asked first. They may change the input. */
  approvalTitle?(input: unknown): string;
  run(input: unknown, tools: StepContext): Promise<unknown>;
}

const CUSTOMERS = new Map([
  ['Lisbon', 214],
  ['Hamburg', 1031],
]);

/** Where there are customers. */
export const CITIES: readonly string[] = [...CUSTOMERS.keys()];

const place = z.strictObject({ city: z.enum(CITIES) });
const mail = place.extend({ subject: z.string().min(1).max(100), text: z.string().min(1) });

const countCustomers: Tool = {
  description: 'Says how many customers there are in a city.',
  input: place,
  async run(input) {
    const { city } = place.parse(input);
    await simulateLatency();
    return { city, customers: CUSTOMERS.get(city) };
  },
};

const mailCustomers: Tool = {
  description: 'Sends a mail to all customers in a city. A person is asked first; they may change it, or refuse.',
  input: mail,
  approvalTitle(input) {
    const { city, subject } = mail.parse(input);
    return `Send “${subject}” to ${CUSTOMERS.get(city)} customers in ${city}?`;
  },
  async run(input, { idempotencyKey }) {
    const { city, subject, text } = mail.parse(input);
    await sendMail({ key: idempotencyKey, to: `customers in ${city}`, subject, text });
    return { sent: CUSTOMERS.get(city), city, subject, text };
  },
};

/** The tools, by the names that models know them by. */
export const TOOLS: ReadonlyMap<string, Tool> = new Map([
  ['count_customers', countCustomers],
  ['mail_customers', mailCustomers],
]);
