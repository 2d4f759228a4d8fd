import { onTestFinished } from 'vitest';
import { agent, payload, runAgents } from '../../lambda/index.ts';
import { createOperator } from '../../lambda/operator/create-operator.ts';
import type { Operator } from '../../lambda/operator/operator.ts';
import type { AgentOptions } from '../../lambda/runtime/agent/agent-options.ts';
import type { Storage } from '../../lambda/storage/ports.ts';

/** A class that only the agent's code has. */
class Money {
  readonly cents: number;

  constructor(cents: number) {
    this.cents = cents;
  }
}

const types = {
  money: {
    is: (value: unknown): value is Money => value instanceof Money,
    encode: ({ cents }: Money) => ({ cents }),
    decode: ({ cents }: { cents: number }) => new Money(cents),
  },
};

/** Bytes that look like the beginning of a picture. */
export const PICTURE = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 1, 2, 3]);

/** An agent with many kinds of values and waits, run by a worker, and an operator without its code. */
export function operatorScene(storage: Storage, options: AgentOptions = {}) {
  const trips = agent(
    {
      name: 'trips',
      state: {
        initial: (input: { budget: number }) => ({ budget: input.budget, spent: new Money(0), notes: ['begun'] }),
      },
      async run(ctx, input) {
        const flights = await ctx.step('search', () => [{ id: 'HP 204', price: 640 }]);
        await ctx.update((draft) => {
          draft.spent = new Money(64_000);
          draft.notes.push('searched');
        });
        const { approved, comment, edits } = await ctx.approval('book', {
          title: `Book ${flights[0]?.id}?`,
          show: { price: new Money(64_000), seat: payload(PICTURE, { type: 'image/png' }) },
          facts: { budget: input.budget },
          approvers: ['user:ann', 'group:desk'],
          editable: true,
        });
        if (!approved) throw new Error(`Refused: ${comment}`);
        const seat = await ctx.waitForSignal('seat', { timeout: { days: 2 } });
        return { seat, edits, flights };
      },
    },
    { ...options, storage, types },
  );
  const worker = runAgents([trips], { poll: { milliseconds: 20 }, sweep: { milliseconds: 200 } });
  onTestFinished(() => worker.stop());
  const operator: Operator = createOperator(trips.with({ ...options, storage }).runtime);
  return { trips, operator };
}

/** Waits until the operator's view of a run meets a condition. */
export async function until(operator: Operator, run: string, status: string): Promise<void> {
  for (;;) {
    const { status: found, error } = await operator.run(run);
    if (found === status) return;
    if (['SUCCEEDED', 'FAILED', 'CANCELLED'].includes(found))
      throw new Error(`Run ${run} is ${found}, not ${status}: ${error?.message}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
