import { describe, expect, it } from 'vitest';
import { testAgents } from 'waitstate/testing';
import { travel } from '../../examples/travel/agent.ts';
import { airline, airlineBill } from '../../examples/travel/airline.ts';
import { hotelBill } from '../../examples/travel/hotel.ts';
import { exampleOf, freshServices, paidIn, totalOf } from './simulated.ts';

const SEARCHES = [
  ['search Hamburg to Tokyo', 0.4],
  ['search Berlin to Tokyo', 0.4],
];
const example = exampleOf(travel);
const toLisbon = { ...example, to: 'Lisbon' };
const toFullHotel = { ...toLisbon, hotel: 'Full House' };

freshServices();

describe('the travel agent', () => {
  it('books the approved trip', async () => {
    const run = await testAgents(travel).start(toLisbon);
    expect(await run.approvals()).toMatchObject([
      {
        title: 'Book a flight to Lisbon for $240?',
        show: {
          flight: 'HP 204 from Hamburg',
          hotel: 'Garden Hotel, 5 nights, $700',
          'offers as searched': [
            { flight: 'HP 204', from: 'Hamburg', stops: 1, fare: '$240' },
            { flight: 'HP 118', from: 'Berlin', stops: 0, fare: '$620' },
          ],
        },
        facts: { fare: 240 },
        approvers: ['user:ann'],
      },
    ]);
    await run.approve('book');
    expect(await run.result()).toEqual({
      ...{ booked: true, paid: '$940' },
      ...{ ticket: expect.stringMatching(/^T-/), room: expect.stringMatching(/^R-/) },
    });
    expect((await run.checkpoints()).at(-1)?.state).toMatchObject({ approved: { fare: 240, by: 'user:ann' } });
  });

  it('requests a second approval when the fare has changed, and books at the fare that was approved last', async () => {
    const run = await testAgents(travel).start(example);
    expect(await run.approvals()).toMatchObject([
      { title: 'Book a flight to Tokyo for $1,200?', facts: { fare: 1200 } },
    ]);
    await run.approve('book');
    expect(await run.status()).toBe('WAITING_FOR_APPROVAL');
    expect(await run.approvals()).toMatchObject([
      {
        ...{ title: 'Book a flight to Tokyo for $1,500?', requestNumber: 2, facts: { fare: 1500 } },
        changed: { before: { fare: 1200 }, after: { fare: 1500 } },
      },
    ]);
    expect(await paidIn(airlineBill)).toEqual(SEARCHES);
    await run.approve('book');
    expect(await run.result()).toMatchObject({ booked: true, paid: '$2,200' });
    expect(await paidIn(airlineBill)).toEqual([...SEARCHES, ['ticket for HP 204', 1500]]);
    expect(await paidIn(hotelBill)).toEqual([['5 nights at Garden Hotel', 700]]);
  });

  it('books nothing when the new fare is rejected', async () => {
    const run = await testAgents(travel).start(example);
    await run.approve('book');
    await run.reject('book', { comment: 'Too much.' });
    expect(await run.result()).toEqual({ booked: false, reason: 'Too much.' });
    expect(await paidIn(airlineBill)).toEqual(SEARCHES);
  });

  it('sends a reminder, and books nothing when no approver decides within two days', async () => {
    const world = testAgents(travel);
    const run = await world.start(example);
    await world.skip({ days: 2 });
    expect(await run.result()).toEqual({ booked: false, reason: 'EXPIRED' });
    expect(world.notifications.map(({ kind }) => kind)).toEqual(['requested', 'reminder', 'reminder', 'reminder']);
    expect(await paidIn(airlineBill)).toEqual(SEARCHES);
  });

  it.each(['book flight', 'book hotel'])('pays once, wherever its process dies around "%s"', async (step) => {
    const world = testAgents(travel, { deliverTwice: true });
    for (const moment of ['before', 'after', 'recorded']) world.crash({ [moment]: step });
    const run = await world.start(toLisbon);
    await run.approve('book');
    expect(await run.result()).toMatchObject({ booked: true, paid: '$940' });
    expect(world.invocations.filter(({ end }) => end === 'failed')).toHaveLength(3);
    expect((await paidIn(airlineBill)).slice(2)).toEqual([['ticket for HP 204', 240]]);
    expect(await paidIn(hotelBill)).toEqual([['5 nights at Garden Hotel', 700]]);
  });

  it('pays for a search once even if its process dies after it', async () => {
    const world = testAgents(travel);
    world.crash({ recorded: 'search flights' });
    const run = await world.start({ ...example, from: ['Hamburg'] });
    expect(await run.status()).toBe('WAITING_FOR_APPROVAL');
    expect(world.invocations.map(({ end }) => end)).toEqual(['failed', 'suspended']);
    expect(await paidIn(airlineBill)).toEqual(SEARCHES.slice(0, 1));
  });

  it('pays for the same search at most once an hour across runs', async () => {
    const world = testAgents(travel);
    await world.start(example);
    await world.start(example);
    expect(await paidIn(airlineBill)).toEqual(SEARCHES);
    await world.skip({ hours: 1 });
    await world.start(example);
    expect(await paidIn(airlineBill)).toEqual([...SEARCHES, ...SEARCHES]);
  });

  it('cancels the ticket once when the hotel is full', async () => {
    const world = testAgents(travel);
    world.crash({ after: '@undo:book flight' });
    const run = await world.start(toFullHotel);
    await run.approve('book');
    expect(await run.status()).toBe('FAILED');
    await expect(run.result()).rejects.toThrow(/Full House has no room left/);
    expect((await paidIn(airlineBill)).slice(2)).toEqual([
      ['ticket for HP 204', 240],
      [expect.stringMatching(/^ticket T-\S+ cancelled$/), -240],
    ]);
    expect(await totalOf(airlineBill)).toBeCloseTo(0.8);
    expect(await paidIn(hotelBill)).toEqual([]);
  });

  it('lists the known destinations when a city is unknown', async () => {
    const run = await testAgents(travel).start({ ...example, to: 'Atlantis' });
    await expect(run.result()).rejects.toThrow(/no flights to Atlantis. Try Tokyo or Lisbon/);
  });
});

describe('the airline', () => {
  it('never books at a fare other than the requested one', async () => {
    const [flight] = await airline.search({ from: 'Hamburg', to: 'Tokyo' });
    if (!flight) throw new Error('no flight');
    await expect(airline.book(flight, 1200, 'key')).rejects.toThrow(/costs \$1500 now, not \$1200/);
    await airline.book(flight, 1500, 'key');
    await airline.book(flight, 1500, 'key');
    expect(await totalOf(airlineBill)).toBe(1500.4);
  });
});
