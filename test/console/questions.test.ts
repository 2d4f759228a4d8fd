import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { PATHS } from '../../lambda/console/paths.ts';
import { agent } from '../../lambda/index.ts';
import { describedBy, submittedFields } from './page-form.ts';
import { caller, consoleScene } from './scene.ts';
import { textOf } from './well-formed.ts';

const PATH = PATHS.approval('trip', 'seat');
const BOB = caller({ person: 'user:bob' });

const seats = agent({
  name: 'seats',
  run: (ctx, quorum: number) =>
    ctx.ask('seat', {
      ...{ title: 'Which seat?', approvers: ['user:ann', 'user:bob'], quorum, timeout: { days: 1 } },
      choices: [
        { value: 'w', label: 'Window seat', description: 'Next to the wing' },
        { value: 'a', label: 'Aisle seat' },
      ],
    }),
});

async function askSeat(quorum = 1) {
  const scene = consoleScene(seats);
  await scene.start(quorum, { id: 'trip' });
  return scene;
}

describe('a question in the console', () => {
  it('shows its choices with labels, and no button to approve', async () => {
    const { get } = await askSeat();
    const { page } = await get(PATH);
    expect(textOf(page)).toMatch(/seats asks a question · run trip Which seat\? .*Answer by in 24 h/);
    expect(textOf(page)).toMatch(
      /You answer as user:ann ?\. Which seat\? Window seat Next to the wing Aisle seat Comment/,
    );
    expect(textOf(page)).toMatch(/Answer Decline/);
    expect(page).toContain('<input type="radio" id="value-0-1" name="value" value="1" required>');
    expect(page).toContain('value="reject" formnovalidate>Decline');
    expect(textOf(page)).not.toMatch(/Approve|approval/);
    expect(submittedFields(page)).toMatchObject({ form: 'value', comment: '' });
  });

  it('is answered with a plain form, then shows the answer', async () => {
    const { get, post, run } = await askSeat();
    const fields = submittedFields((await get(PATH)).page);
    expect(await post(PATH, { ...fields, value: '1', answer: 'approve' })).toMatchObject({ status: 303 });
    expect(await run('trip').result()).toMatchObject({ answered: true, answer: 'a' });
    const after = textOf((await get(PATH)).page);
    expect(after).toMatch(/Answered Aisle seat By user:ann , .*The run has ended: Succeeded/);
    expect(after).toMatch(/Who can answer user:ann Answered just now Aisle seat Did not answer: user:bob/);
    expect(textOf((await get(PATHS.ofRun('trip', 'approvals'))).page)).toMatch(
      /Answered requested just now user:ann answered: Aisle seat/,
    );
  });

  it('says at its field what is missing or wrong, and keeps what the user typed', async () => {
    const { get, post, operator } = await askSeat();
    const fields = submittedFields((await get(PATH)).page);
    for (const [value, message] of [
      ['', 'This field is required.'],
      ['2', 'Choose one of the options.'],
      ['w', 'Choose one of the options.'],
      ['__proto__', 'Choose one of the options.'],
    ] as const) {
      const { status, page } = await post(PATH, { ...fields, value, answer: 'approve', comment: 'By the wing.' });
      expect(status).toBe(400);
      expect(textOf(page)).toMatch(new RegExp(`Your answer was not recorded ${message.replace('.', '\\.')}`));
      expect(page).toContain('<a href="#value-0">');
      expect(page).toContain(`<p class="wrong" id="value-0-wrong">${message}</p>`);
      expect(page).toContain('<fieldset id="value-0" tabindex="-1" aria-describedby="value-0-wrong">');
      expect(page).toContain('By the wing.');
    }
    expect((await operator.approval('trip', 'seat')).votes).toEqual([]);
  });

  it('can be declined without an answer', async () => {
    const { get, post, run } = await askSeat();
    const fields = submittedFields((await get(PATH)).page);
    await post(PATH, { ...fields, answer: 'reject', comment: 'Ask Bob.' });
    expect(await run('trip').result()).toMatchObject({ answered: false, comment: 'Ask Bob.' });
    expect(textOf((await get(PATH)).page)).toMatch(/Declined By user:ann/);
  });

  it('shows the answer of another person, and accepts another answer or the same one', async () => {
    const { get, post, run } = await askSeat(2);
    const fields = submittedFields((await get(PATH)).page);
    await post(PATH, { ...fields, value: '0', answer: 'approve' });
    expect(textOf((await get(PATH)).page)).toMatch(
      /You answered this Your answer is recorded\. 1 more equal answer needed/,
    );
    const { page } = await get(PATH, BOB);
    expect(textOf(page)).toMatch(
      /user:ann answered Window seat 1 more equal answer needed\. If you give a different answer/,
    );
    expect(submittedFields(page).value).toBe('0');
    expect(textOf((await get(PATHS.inbox, BOB)).page)).toMatch(/user:ann answered: Window seat .*Equal answers 1 of 2/);
    // Bob had opened the page before Ann answered.
    await post(PATH, { ...fields, value: '1', answer: 'approve' }, BOB);
    expect(textOf((await get(PATH)).page)).toMatch(
      /user:ann Answered just now Differs from the newest answer\. It counts again if somebody gives the same answer\. Window seat user:bob Answered just now Aisle seat (?!Not answered yet)/,
    );
    await post(PATH, { ...fields, value: '0', answer: 'approve' }, BOB);
    expect(await run('trip').result()).toMatchObject({ answer: 'w', by: ['user:ann', 'user:bob'] });
  });

  it('says that an answer was replaced by a later one of the same person', async () => {
    const { get, post } = await askSeat(2);
    const fields = submittedFields((await get(PATH)).page);
    await post(PATH, { ...fields, value: '0', answer: 'approve' });
    await post(PATH, { ...fields, value: '1', answer: 'approve' });
    expect(textOf((await get(PATH)).page)).toMatch(
      /user:ann Answered just now Replaced by a later answer\. Window seat .*Not answered yet: user:bob/,
    );
  });

  it('is answered by a delegate, who sees for whom', async () => {
    const { get, post, run, operator } = await askSeat();
    const until = new Date('2026-01-05T00:00:00Z');
    await operator.delegate({ person: 'user:ann', delegate: 'user:cho', until });
    const cho = caller({ person: 'user:cho' });
    const { page } = await get(PATH, cho);
    expect(textOf(page)).toMatch(/You answer as user:cho for user:ann ?, who is away\./);
    await post(PATH, { ...submittedFields(page), value: '1', answer: 'approve' }, cho);
    expect(await run('trip').result()).toMatchObject({
      ...{ answer: 'a', by: ['user:cho'], delegated: [{ by: 'user:cho', for: 'user:ann' }] },
    });
    expect(textOf((await get(PATH, cho)).page)).toMatch(/Answered Aisle seat By user:cho for user:ann/);
  });

  it('cannot be decided together with others', async () => {
    const { start, get, post } = await askSeat();
    await start(1, { id: 'trip-2' });
    const inbox = (await get(PATHS.inbox)).page;
    expect(textOf(inbox)).toMatch(/Which seat\?.*Which seat\?/);
    expect(inbox).not.toContain('Decide selected');
    const list = 'trip/seat trip-2/seat';
    const { page } = await post(PATHS.decideTogether, { list });
    expect(textOf(page)).toMatch(
      /Nothing to decide .*2 requests not on this page .*Answer a question on its own page\./,
    );
  });

  it('says that it expired without an answer', async () => {
    const { get, run } = await askSeat();
    await run('trip').expire('seat');
    expect(textOf((await get(PATH)).page)).toMatch(
      /Expired: no answer in time .*The agent continues without an answer\./,
    );
  });

  it('shows why the agent did not accept an answer, and the answer to correct', async () => {
    const even = agent({
      name: 'even',
      run: (ctx) =>
        ctx.ask('seat', {
          ...{ title: 'How many?', approvers: ['user:ann'] },
          answer: z.object({ count: z.int().refine((n) => n % 2 === 0, 'must be even') }),
        }),
    });
    const { start, get, post, run } = consoleScene(even);
    await start(undefined, { id: 'trip' });
    const fields = submittedFields((await get(PATH)).page);
    await post(PATH, { ...fields, 'value/count': '3', answer: 'approve' });
    expect(textOf((await get(PATH)).page)).toMatch(
      /Answered, but asked again .*The answer was not accepted: .*count: must be even/,
    );
    const again = PATHS.approval('trip', 'seat~2');
    const { page } = await get(again);
    expect(textOf(page)).toMatch(
      /even asks a question for the second time .*The answer was not accepted .*must be even/,
    );
    expect(submittedFields(page)['value/count']).toBe('3');
    expect(textOf((await get(PATHS.inbox)).page)).toContain('Asked again because the answer was not accepted');
    await post(again, { ...submittedFields(page), 'value/count': '4', answer: 'approve' });
    expect(await run('trip').result()).toMatchObject({ answer: { count: 4 } });
  });
});

const Trip = z.object({
  seat: z.enum(['window', 'aisle', 'middle']).meta({ title: 'Seat' }),
  bags: z.int().min(0).max(3).default(1).meta({ description: 'Up to 23 kg each' }),
  insured: z.boolean().optional(),
  airport: z.enum(['BER', 'HAM', 'MUC', 'FRA', 'CGN', 'DUS', 'STR', 'LEJ', 'NUE']),
  note: z.string().max(500).optional(),
  meals: z.array(z.enum(['vegan', 'fish', 'none'])),
  tags: z.array(z.string()),
  leave: z.iso.datetime(),
  hotel: z.object({ name: z.string(), nights: z.int() }),
  extra: z.record(z.string(), z.number()).optional(),
});

const FILLED = {
  ...{ 'value/seat': '2', 'value/bags': '2', 'value/insured': '1', 'value/airport': '4', 'value/note': 'a\r\nb' },
  ...{ 'value/meals/1': 'on', 'value/tags': 'x\r\ny', 'value/leave': '2030-01-02T09:30', answer: 'approve' },
  ...{ 'value/hotel/name': 'Garden', 'value/hotel/nights': '5', 'value/extra': '{"a": 1}' },
};

describe('the form of a question', () => {
  const trips = agent({
    name: 'trips',
    run: (ctx) => ctx.ask('seat', { title: 'Which trip?', approvers: ['user:ann'], answer: Trip }),
  });

  it('has a labelled field for each value, and the answer has their types', async () => {
    const { start, get, post, run } = consoleScene(trips);
    await start(undefined, { id: 'trip' });
    const { page } = await get(PATH);
    expect(textOf(page)).toMatch(
      /Seat window aisle middle bags \(optional\) Up to 23 kg each \. A whole number from 0 to 3\./,
    );
    expect(textOf(page)).toMatch(
      /meals vegan fish none tags One on each line\. leave The time is in UTC\. hotel name nights/,
    );
    expect(page).toMatch(/<fieldset class="group stack"><legend><bdi>hotel<\/bdi><\/legend>/);
    expect(describedBy(page, 'value/bags')).toBe('value-1-hint');
    const fields = submittedFields(page);
    expect(fields).toMatchObject({ 'value/bags': '1', 'value/airport': '', 'value/insured': '' });
    await post(PATH, { ...fields, ...FILLED });
    expect(await run('trip').result()).toMatchObject({
      answer: {
        ...{ seat: 'middle', bags: 2, insured: false, airport: 'CGN', note: 'a\nb', meals: ['fish'], tags: ['x', 'y'] },
        ...{ leave: '2030-01-02T09:30:00Z', hotel: { name: 'Garden', nights: 5 }, extra: { a: 1 } },
      },
    });
  });

  it('shows every problem at its field, and keeps all that was entered', async () => {
    const { start, get, post } = consoleScene(trips);
    await start(undefined, { id: 'trip' });
    const fields = submittedFields((await get(PATH)).page);
    const wrong = { 'value/bags': '7', 'value/hotel/nights': 'five', 'value/extra': '{"a"', 'value/seat': '' };
    const { status, page } = await post(PATH, { ...fields, ...FILLED, ...wrong });
    expect(status).toBe(400);
    const text = textOf(page);
    expect(text).toMatch(
      /Your answer was not recorded Seat : This field is required\. nights : Enter a whole number\. extra : Enter JSON\. Line 1, column 5: .* bags : Enter a whole number from 0 to 3\./,
    );
    expect(describedBy(page, 'value/bags')).toBe('value-1-hint value-1-wrong');
    expect(page).toContain('href="#value-1"');
    const { contentHash: _hash, comment: _comment, form: _form, ...kept } = submittedFields(page);
    const { answer: _answer, ...entered } = { ...FILLED, ...wrong };
    expect({ 'value/seat': '', ...kept }).toEqual(entered);
  });

  it('ignores fields that it does not have', async () => {
    const { start, get, post, run, operator } = consoleScene(trips);
    await start(undefined, { id: 'trip' });
    const fields = submittedFields((await get(PATH)).page);
    const unknown = {
      'value/__proto__': 'x',
      'value/__proto__/admin': '1',
      'value/constructor': 'x',
      'value/hotel': '{}',
    };
    await post(PATH, { ...fields, ...FILLED, ...unknown });
    expect(await run('trip').result()).toMatchObject({ answer: { seat: 'middle' } });
    expect(Object.keys(Object((await operator.approval('trip', 'seat')).answer?.value))).not.toContain('__proto__');
    expect(({} as { admin?: unknown }).admin).toBeUndefined();
  });
});

describe('changes to a request with a schema', () => {
  const refunds = agent({
    name: 'refunds',
    run: (ctx, quorum: number) =>
      ctx.approval('seat', {
        ...{ title: 'Refund?', approvers: ['user:ann', 'user:bob'], quorum },
        facts: { amount: 80, currency: 'EUR', secret: 'x' },
        show: { note: 'Two\nlines', when: new Date(0) },
        editable: z.object({
          amount: z.number().positive().max(80),
          currency: z.enum(['EUR', 'USD']),
          note: z.string(),
        }),
      }),
  });
  async function request(quorum = 1) {
    const scene = consoleScene(refunds);
    await scene.start(quorum, { id: 'trip' });
    return scene;
  }

  it('are a form with the values that are shown; without changes, the request is approved as it is', async () => {
    const { get, post, run } = await request();
    const { page } = await get(PATH);
    const fields = submittedFields(page);
    expect(fields).toMatchObject({
      'edits/amount': '80',
      'edits/currency': '0',
      'edits/note': 'Two\r\nlines',
      form: 'edits',
    });
    expect(page).toMatch(/<details><summary>Approve with changes/);
    expect(page).not.toMatch(/name="edits\/amount"[^>]*required/);
    await post(PATH, { ...fields, answer: 'approve' });
    expect(await run('trip').result()).not.toHaveProperty('edits');
  });

  it('are the whole object that the schema describes', async () => {
    const { get, post, run } = await request();
    const fields = submittedFields((await get(PATH)).page);
    await post(PATH, { ...fields, 'edits/amount': '60', answer: 'approve' });
    expect(await run('trip').result()).toMatchObject({ edits: { amount: 60, currency: 'EUR', note: 'Two\nlines' } });
  });

  it('are refused at their field, in an open form that keeps them', async () => {
    const { get, post, operator } = await request();
    const fields = submittedFields((await get(PATH)).page);
    const { status, page } = await post(PATH, { ...fields, 'edits/amount': '800', answer: 'approve' });
    expect(status).toBe(400);
    expect(textOf(page)).toMatch(/Your decision was not recorded amount : Enter a number above 0 and up to 80\./);
    expect(page).toMatch(/<details open><summary>Approve with changes/);
    expect(submittedFields(page)['edits/amount']).toBe('800');
    expect((await operator.approval('trip', 'seat')).votes).toEqual([]);
  });

  it('are ignored by someone who rejects', async () => {
    const { get, post, run } = await request();
    const fields = submittedFields((await get(PATH)).page);
    await post(PATH, { ...fields, 'edits/amount': 'x', answer: 'reject' });
    expect(await run('trip').result()).toMatchObject({ approved: false });
  });

  it('are shown to the next approver if they are proposed', async () => {
    const { get, post, run } = await request(2);
    const fields = submittedFields((await get(PATH)).page);
    await post(PATH, { ...fields, 'edits/amount': '60', answer: 'approve' });
    const { page } = await get(PATH, BOB);
    expect(textOf(page)).toMatch(/user:ann proposes these changes .*amount 80 60/);
    expect(submittedFields(page)['edits/amount']).toBe('60');
    await post(PATH, { ...submittedFields(page), answer: 'approve' }, BOB);
    expect(await run('trip').result()).toMatchObject({ edits: { amount: 60 }, by: ['user:ann', 'user:bob'] });
  });
});
