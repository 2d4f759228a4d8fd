// The tools of the assistant. The customers are made up, and the mail is simulated.
import type { StepContext } from 'waitstate';
import { z } from 'zod';
import { simulateLatency } from '../simulated/latency.ts';
import { sendMail } from '../simulated/mail.ts';

/** A tool that the model can call. */
export interface Tool {
  readonly description: string;
  readonly input: z.ZodObject;
  /** The title of the approval that a call needs; the approver may edit the input. Absent if no approval is needed. */
  approvalTitle?(input: unknown): string;
  run(input: unknown, step: StepContext): Promise<unknown>;
}

const CUSTOMERS = new Map([
  ['Lisbon', 214],
  ['Hamburg', 1031],
]);

/** The cities with customers. */
export const CITIES: readonly string[] = [...CUSTOMERS.keys()];

const cityInput = z.strictObject({ city: z.enum(CITIES) });
const mailInput = cityInput.extend({ subject: z.string().min(1).max(100), text: z.string().min(1) });

const countCustomers: Tool = {
  description: 'Counts the customers in a city.',
  input: cityInput,
  async run(input) {
    const { city } = cityInput.parse(input);
    await simulateLatency();
    return { city, customers: CUSTOMERS.get(city) };
  },
};

const mailCustomers: Tool = {
  description:
    'Sends a mail to all customers in a city. An approver must approve it first, and may change or reject it.',
  input: mailInput,
  approvalTitle(input) {
    const { city, subject } = mailInput.parse(input);
    return `Send “${subject}” to ${CUSTOMERS.get(city)} customers in ${city}?`;
  },
  async run(input, { idempotencyKey }) {
    const { city, subject, text } = mailInput.parse(input);
    await sendMail({ key: idempotencyKey, to: `customers in ${city}`, subject, text });
    return { sent: CUSTOMERS.get(city), city, subject, text };
  },
};

/** The tools, by the names that the model uses. */
export const TOOLS: ReadonlyMap<string, Tool> = new Map([
  ['count_customers', countCustomers],
  ['mail_customers', mailCustomers],
]);
