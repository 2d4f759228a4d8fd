// A durable agent in a separate process: it runs until it ends or suspends, then exits.
import { readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { agent } from '../../lambda/index.ts';
import { embeddedStorage } from '../../lambda/storage/embedded/embedded-storage.ts';

/** Creates the agent on the storage of a folder; the current fare is in a file in that folder. */
export const createBookingAgent = (folder: string) => {
  const fare = () => Number(readFileSync(join(folder, 'fare.txt'), 'utf8'));
  return agent(
    {
      name: 'booking',
      async run(ctx) {
        const price = await ctx.step('search', fare);
        const decision = await ctx.approval('book', {
          title: (facts) => `Book for $${facts.price}?`,
          approvers: ['user:ann'],
          timeout: { days: 3 },
          facts: { price },
          recheck: () => {
            writeLine(`checks the fare again: $${fare()}`);
            return { price: fare() };
          },
        });
        if (!decision.approved) return 'not booked';
        return ctx.step('book', () => {
          writeLine('books');
          return `booked for $${decision.facts?.price}`;
        });
      },
    },
    { storage: embeddedStorage({ folder }) },
  );
};

// Synchronous, so that no output is lost when the process is killed.
const writeLine = (text: string): number => writeSync(1, `${text}\n`);

const [program, folder, run] = process.argv.slice(1);
if (program === import.meta.filename && folder && run) {
  const booking = createBookingAgent(folder);
  const end = await booking.invoke({ run }, { by: `pid ${process.pid}`, until: Date.now() + 60_000 });
  writeLine(`${end.end}; the run is ${await booking.run(run).status()}`);
  await booking.store.close();
}
