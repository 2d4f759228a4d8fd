// Plans a trip, requests an approval before it books, requests it again if the fare has changed, and cancels the ticket if
// the hotel is full. The airline and the hotels are simulated; the rest is production code.
import { agent } from 'waitstate';
import * as z from 'zod';
import { airline, type Flight } from './airline.ts';
import { hotel } from './hotel.ts';

/** The input of a run. Invalid input is rejected before anything is paid. */
const Trip = z.object({
  from: z.array(z.string()).min(1).default(['Hamburg', 'Berlin']), // cities to leave from
  to: z.string(),
  hotel: z.string().default('Garden Hotel'),
  nights: z.int().min(1).default(5),
});

interface Plan {
  offers: readonly Flight[];
  approved?: { fare: number; by: string };
}

export const travel = agent({
  name: 'travel',
  description: 'Books a trip after an approval, and requests it again if the fare has changed.',
  example: { from: ['Hamburg', 'Berlin'], to: 'Tokyo', hotel: 'Garden Hotel', nights: 5 },
  input: Trip,
  state: { initial: (): Plan => ({ offers: [] }) },

  async run(ctx, trip) {
    // A search costs $0.40. Its result is recorded, and other runs reuse it for an hour.
    const found = await ctx.map('research', trip.from, (branch, from) =>
      branch.tool('search flights', { from, to: trip.to }, airline.search, { cache: { hours: 1, shared: true } }),
    );
    const offers = found.flat().toSorted((a, b) => a.fare - b.fare);
    await ctx.update((plan) => {
      plan.offers = offers;
    });
    const [flight] = offers;
    if (!flight) return { booked: false, reason: 'There are no flights.' };

    // The run is suspended while Ann decides. After she approves, `recheck` reads the fare again; if it has changed, she
    // gets a new approval request that shows both fares.
    const decision = await ctx.approval('book', {
      title: ({ fare }) => `Book a flight to ${trip.to} for ${dollars(fare)}?`,
      show: {
        flight: `${flight.id} from ${flight.from}`,
        hotel: `${trip.hotel}, ${trip.nights} nights, ${dollars(hotel.priceOf(trip))}`,
        'offers as searched': offers.map(({ id, from, stops, fare }) => ({
          flight: id,
          from,
          stops,
          fare: dollars(fare),
        })),
      },
      approvers: ['user:ann'],
      remindAfter: { hours: 12 },
      timeout: { days: 2 },
      facts: { fare: flight.fare },
      recheck: async () => ({ fare: await airline.fareOf(flight) }),
    });
    if (!decision.approved) return { booked: false, reason: decision.comment ?? decision.status };
    const { fare } = decision.facts; // the fare that was approved last
    await ctx.update((plan) => {
      plan.approved = { fare, by: decision.by.join() };
    });

    // If a later step fails or the run is cancelled, `undo` cancels the ticket.
    const ticket = await ctx.step('book flight', ({ idempotencyKey }) => airline.book(flight, fare, idempotencyKey), {
      undo: airline.cancel,
    });
    const room = await ctx.step('book hotel', ({ idempotencyKey }) => hotel.book(trip, idempotencyKey));
    return { booked: true, ticket: ticket.number, room: room.number, paid: dollars(ticket.paid + room.paid) };
  },
});

const dollars = (amount: number): string => `$${amount.toLocaleString('en-US')}`;

/** The Lambda function. */
export const handler = travel.handler();
