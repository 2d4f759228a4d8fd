// An agent for the browser tests that asks questions of every kind.
import { agent } from 'waitstate';
import * as z from 'zod';

const ANN = { approvers: ['user:ann'], timeout: { hours: 1 } } as const;

const Trip = z.object({
  seat: z.enum(['window', 'aisle']).meta({ title: 'Seat' }),
  bags: z.int().min(0).max(3).default(1).meta({ title: 'Bags', description: 'Up to 23 kg each' }),
  insured: z.boolean().meta({ title: 'Travel insurance' }),
  airport: z.enum(['Berlin', 'Hamburg', 'Munich', 'Frankfurt', 'Cologne', 'Bonn', 'Kiel', 'Jena', 'Trier']),
  leave: z.iso.date().meta({ title: 'Day of departure' }),
  call: z.iso.datetime().optional().meta({ title: 'When may we call?' }),
  mail: z.email().meta({ title: 'Email address' }),
  meals: z.array(z.enum(['vegan', 'fish', 'none'])).meta({ title: 'Meals' }),
  guests: z.array(z.string()).meta({ title: 'Guests' }),
  hotel: z.object({ name: z.string(), nights: z.int().min(1) }).meta({ title: 'Hotel' }),
  note: z.string().max(500).optional().meta({ title: 'Note to the hotel' }),
  limits: z.record(z.string(), z.number()).optional().meta({ title: 'Spending limits' }),
});

export const questions = agent({
  name: 'questions',
  async run(ctx, kind: 'choice' | 'several' | 'text' | 'form' | 'edits' | 'hostile') {
    if (kind === 'several')
      return ctx.ask('extras', {
        ...ANN,
        title: 'What shall we add?',
        choices: ['a meal', 'a bag', 'lounge'],
        multiple: true,
      });
    if (kind === 'text') return ctx.ask('note', { ...ANN, title: 'What shall we tell the hotel?', text: true });
    if (kind === 'form')
      return ctx.ask('trip', { ...ANN, title: 'How do you want to travel?', show: { to: 'Lisbon' }, answer: Trip });
    if (kind === 'edits')
      return ctx.approval('refund', {
        ...{ ...ANN, title: 'Refund $80?', facts: { amount: 80, reason: 'Broken' } },
        editable: z.object({ amount: z.number().positive().max(80), reason: z.enum(['Broken', 'Late', 'Wrong item']) }),
      });
    if (kind === 'hostile')
      return ctx.ask('hostile', {
        ...{ ...ANN, title: 'Which \u202eone\u202c?' },
        choices: [
          { value: 'a', label: `${'unbroken'.repeat(20)}`, description: '\u202eright to left' },
          { value: 'b', label: 'مرحبا بالعالم', description: 'A\u0000B' },
          { value: 'c', label: '<img src=x onerror=alert(1)>' },
        ],
      });
    return ctx.ask('seat', {
      ...{ ...ANN, title: 'Which seat do you want?', show: { flight: 'LH 716 to Tokyo', price: '$1,200' } },
      choices: [
        { value: 'window', label: 'Window seat', description: 'Row 24, next to the wing' },
        { value: 'aisle', label: 'Aisle seat', description: 'Row 31' },
        { value: 'exit', label: 'Exit row, $40 more' },
      ],
    });
  },
});
