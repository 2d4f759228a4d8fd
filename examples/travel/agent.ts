// Plans a trip, asks before it books, asks again when the fare has changed, and gives the ticket back when the hotel is
// full. The airline and the hotels are simulated; the rest is as in earnest.
import { agent } from 'waitstate';
import * as z from 'zod';
import { airline, type Flight } from './airline.ts';
import { hotel } from './hotel.ts';

/** What a run begins with; what is left out has a default, and what does not fit is refused before anything is paid. */
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
  input: Trip,
  state: { initial: (): Plan => ({ offers: [] }) },

  async run(ctx, trip) {
    // A search costs $0.40. Its result is recorded, and for an hour no other run pays for the same search.
    const found = await ctx.map('research', trip.from, (branch, from) =>
      branch.tool('search flights', { from, to: trip.to }, airline.search, { cache: { hours: 1, shared: true } }),
    );
    const offers = found.flat().toSorted((a, b) => a.fare - b.fare);
    await ctx.update((plan) => {
      plan.offers = offers;
    });
    const [flight] = offers;
    if (!flight) return { booked: false, because: 'There are no flights.' };

    // Nothing runs while Ann thinks. When she has approved, the fare is looked at again: if it is another one by then,
    // she is asked again, and sees both.
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
    if (!decision.approved) return { booked: false, because: decision.comment ?? decision.status };
    const { fare } = decision.facts; // the one that was approved last
    await ctx.update((plan) => {
      plan.approved = { fare, by: decision.by.join() };
    });

    // When a later step fails, or the run is cancelled, `undo` takes this one back.
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

export const description = 'Books a trip when somebody approves, and asks again when the fare has changed.';

export const example = { from: ['Hamburg', 'Berlin'], to: 'Tokyo', hotel: 'Garden Hotel', nights: 5 };
