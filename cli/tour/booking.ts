// A durable agent in a process of its own: it goes as far as it can, and ends.
import { readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { agent } from '../../lambda/index.ts';
import { embeddedStorage } from '../../lambda/storage/embedded/embedded-storage.ts';

/** The agent, on the storage of a folder; the fare of the day is in a file beside. */
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
            writeLine(`looks at the fare again: $${fare()}`);
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

// Synchronous, so that nothing told is lost when the process is killed.
const writeLine = (text: string): number => writeSync(1, `${text}\n`);

const [program, folder, run] = process.argv.slice(1);
if (program === import.meta.filename && folder && run) {
  const booking = createBookingAgent(folder);
  const end = await booking.invoke({ run }, { by: `pid ${process.pid}`, until: Date.now() + 60_000 });
  writeLine(`${end.end}; the run is ${await booking.run(run).status()}`);
  await booking.store.close();
}
