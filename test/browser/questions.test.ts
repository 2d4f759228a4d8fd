import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { accessibilityViolations, overflowingElements } from './looks.ts';
import { agentFile, createScene, POLL_OPTIONS, runPath } from './scene.ts';

const scene = createScene([agentFile('questions')]);
const PHONE = { viewport: { width: 390, height: 844 } };

async function ask(kind: string) {
  const run = await scene.start('questions', kind);
  return { run, link: await scene.link(run) };
}
const answer = (page: Page) => page.getByRole('button', { name: 'Answer', exact: true }).click();
const textOf = (page: Page) => page.locator('main').innerText();
const expectText = (page: Page, words: RegExp) => expect.poll(() => textOf(page), POLL_OPTIONS).toMatch(words);
async function resultOf(run: string) {
  await scene.until(run, 'SUCCEEDED');
  return (await scene.api(runPath(run))).json.result;
}

describe('a person who is asked a question', () => {
  it('chooses on a phone without JavaScript, with the buttons in view', async () => {
    const { run, link } = await ask('choice');
    const page = await scene.openLink(link, { ...PHONE, javaScriptEnabled: false });
    const box = await page.getByRole('button', { name: 'Answer', exact: true }).boundingBox();
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(844);
    await page.getByText('Aisle seat').click();
    await answer(page);
    expect(await textOf(page)).toMatch(/Answered\s+Aisle seat\s+By user:ann/);
    expect(await resultOf(run)).toMatchObject({ answered: true, answer: 'aisle' });
  });

  it('cannot send an empty answer, and sees the fields that are missing', async () => {
    const { run, link } = await ask('form');
    const page = await scene.openLink(link, { refusals: [400] });
    await answer(page);
    expect(await page.locator(':invalid').count()).toBeGreaterThan(0);
    await page.evaluate("document.querySelector('form').noValidate = true");
    await answer(page);
    await page.getByRole('alert').getByRole('link', { name: 'Email address: This field is required.' }).click();
    expect(await page.evaluate('document.activeElement.name')).toBe('value/mail');
    await page.getByRole('group', { name: 'Seat' }).getByText('aisle').click();
    await page.getByRole('group', { name: 'Travel insurance' }).getByText('No').click();
    await page.getByLabel('airport').selectOption('Kiel');
    await page.getByLabel('Day of departure').fill('2030-05-17');
    await page.getByLabel('When may we call?').fill('2030-05-01T09:30');
    await page.getByLabel('Email address').fill('ann@example.com');
    await page.getByText('vegan').click();
    await page.getByLabel('Guests').fill('Ann\nBob');
    const hotel = page.getByRole('group', { name: 'Hotel' });
    await hotel.getByLabel('name').fill('Garden');
    await hotel.getByLabel('nights').fill('5');
    await page.getByLabel('Spending limits').fill('{"food": 30}');
    await answer(page);
    await expectText(page, /Answered/);
    expect(await resultOf(run)).toMatchObject({
      answer: {
        ...{ seat: 'aisle', bags: 1, insured: false, airport: 'Kiel', leave: '2030-05-17', mail: 'ann@example.com' },
        ...{ call: '2030-05-01T09:30:00Z', meals: ['vegan'], guests: ['Ann', 'Bob'], limits: { food: 30 } },
        hotel: { name: 'Garden', nights: 5 },
      },
    });
  });

  it('declines without correcting what they had typed', async () => {
    const { run, link } = await ask('form');
    const page = await scene.openLink(link);
    await page.getByLabel('Spending limits').fill('{"food":');
    await page.getByLabel('Comment').fill('Ask Bob.');
    await page.getByRole('button', { name: 'Decline' }).click();
    await expectText(page, /Declined/);
    expect(await resultOf(run)).toMatchObject({ answered: false, comment: 'Ask Bob.' });
  });

  it('writes a text of several lines', async () => {
    const { run, link } = await ask('text');
    const page = await scene.openLink(link);
    await page.getByLabel('What shall we tell the hotel?').fill('We arrive late.\nمتأخر');
    await answer(page);
    expect(await resultOf(run)).toMatchObject({ answer: 'We arrive late.\nمتأخر' });
  });
});

describe('an approver who changes a request', () => {
  it('edits the values that are shown, in a form that can stay folded', async () => {
    const { run, link } = await ask('edits');
    const page = await scene.openLink(link, { refusals: [400] });
    await page.getByText('Approve with changes').click();
    await page.getByLabel('amount').fill('800');
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await expectText(page, /amount: Enter a number above 0 and up to 80\./);
    await page.getByLabel('amount').fill('60');
    await page.getByText('Late').click();
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    expect(await resultOf(run)).toMatchObject({ edits: { amount: 60, reason: 'Late' } });
    const untouched = await ask('edits');
    await (await scene.openLink(untouched.link)).getByRole('button', { name: 'Approve', exact: true }).click();
    expect(await resultOf(untouched.run)).not.toHaveProperty('edits');
  });
});

describe('the form of a question', () => {
  it.each(['choice', 'several', 'text', 'form', 'edits', 'hostile'])(
    'is accessible and fits a phone if it is for %s',
    async (kind) => {
      const { link } = await ask(kind);
      for (const options of [PHONE, { colorScheme: 'dark' as const }]) {
        const page = await scene.openLink(link, options);
        for (const fold of await page.locator('summary').all()) await fold.click();
        expect(await accessibilityViolations(page)).toEqual([]);
        expect(await overflowingElements(page)).toEqual([]);
      }
    },
  );
});
