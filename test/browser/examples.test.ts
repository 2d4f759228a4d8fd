import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { createScene, exampleFile, POLL_OPTIONS, runPath } from './scene.ts';
import { shoot } from './shoot.ts';

// What a new user does in the first minutes. With UPDATE_SCREENSHOTS=1 these tests take the screenshots of the docs.
const scene = createScene(['travel', 'refunds', 'model-loop'].map(exampleFile));
// Records the texts of the live output, which disappears when the step has ended.
const RECORD_OUTPUT = `{
  const box = document.getElementById('live-output');
  window.outputs = [];
  const record = () => {
    const text = box.querySelector('pre')?.textContent;
    if (text && text !== window.outputs.at(-1)) window.outputs.push(text);
  };
  new MutationObserver(record).observe(box, { subtree: true, childList: true, characterData: true });
}`;
/** Taller than any page, so that all of its parts are loaded. */
const TALL = { viewport: { width: 1280, height: 4000 } };
const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true }).click();
const follow = (page: Page, name: string) => page.getByRole('link', { name, exact: true }).first().click();
const textOf = (page: Page) => page.locator('main').innerText();
const expectText = (page: Page, words: RegExp) => expect.poll(() => textOf(page), POLL_OPTIONS).toMatch(words);

describe('a new user', () => {
  it('starts the travel agent, approves, approves the changed fare again, and gets a ticket', async () => {
    const page = await scene.open('/', TALL);
    await expectText(page, /No pending requests/);
    await follow(page, 'Start a run');
    await follow(page, 'travel');
    await page.getByLabel('Id (optional)').fill('trip-tokyo');
    await page.getByLabel('Owner (optional)').fill('ann');
    await shoot(page, 'start', { operator: 940 });
    await press(page, 'Start run');
    await expectText(page, /Waiting for\s*approval: book/);
    const first = await scene.openLink(await scene.link('trip-tokyo'));
    await expectText(first, /Book a flight to Tokyo for \$1,200\?.*HP 204 from Hamburg/s);
    await press(first, 'Approve');
    await expectText(first, /Approved/);
    const again = await scene.openLink(await scene.link('trip-tokyo', 'user:ann', 2));
    await expectText(again, /Book a flight to Tokyo for \$1,500\?.*Facts that changed.*1,?200.*1,?500/s);
    await shoot(again, 'approval', { operator: 1400, phone: 2200 });
    await press(again, 'Approve');
    await expectText(again, /The run has ended:\s*Succeeded/);
    await shoot(again, 'approved', { phone: 900 });
    await expectText(page, /Succeeded.*booked\s*true/s);
    await page.goto(`${scene.server.url}/console/runs/trip-tokyo`);
    await expectText(page, /Approvals\s*Book a flight/);
    await shoot(page, 'run', { operator: 900, phone: 900 });
  });

  it('lets two people of finance approve a smaller refund', async () => {
    const run = await scene.start(
      'refunds',
      { order: 'o-17', reason: 'The left side is silent.' },
      { id: 'refund-o-17' },
    );
    const ann = await scene.openLink(await scene.link(run));
    const bob = await scene.openLink(await scene.link(run, 'user:bob'));
    await ann.getByLabel('Comment').fill('The warranty is over, but she is a good customer.');
    await press(ann, 'Approve');
    await expectText(ann, /You approved this.*1 more approval needed/s);
    await bob.getByText('Approve with changes').click();
    const amount = bob.getByLabel('amount');
    expect(await amount.inputValue()).toBe('80');
    await amount.fill('40');
    await press(bob, 'Approve');
    await expectText(bob, /You approved this.*1 more approval needed/s);
    await expectText(ann, /user:bob proposes these changes.*amount.*80.*40/s);
    await press(ann, 'Approve changes');
    await expectText(ann, /The run has ended:\s*Succeeded/);
    await expectText(bob, /The run has ended:\s*Succeeded/);
    expect((await scene.api(runPath(run))).json.result).toMatchObject({ refunded: true, paid: 40 });
  });

  it('approves the action of a model, and forks the conversation with another prompt', async () => {
    const message = 'Tell our customers in Lisbon that the shop is closed on Friday.';
    const run = await scene.start('model-loop', { message }, { id: 'mail-lisbon', owner: 'bob', tags: ['demo'] });
    await scene.start('refunds', { order: 'o-17', reason: 'It came too late.' }, { id: 'refund-2', owner: 'bob' });
    await scene.start(
      'travel',
      { from: ['Berlin'], to: 'Lisbon', hotel: 'Garden Hotel', nights: 2 },
      { id: 'trip-lisbon' },
    );
    await scene.link('trip-lisbon');
    const page = await scene.open('/console/inbox', TALL);
    await expectText(page, /Lisbon.*No model is called|customers in Lisbon/s);
    await expectText(page, /refund-2.*trip-lisbon|trip-lisbon.*refund-2/s);
    await shoot(page, 'inbox', { operator: 900, phone: 900 });
    await page.goto(`${scene.server.url}/console/runs`);
    await shoot(page, 'runs', { operator: 900, phone: 900 });
    await page.goto(`${scene.server.url}/console/runs/${run}`);
    await expectText(page, /Conversation\s*user\s*Tell our customers in Lisbon/);
    await follow(page, 'Open request');
    expect(await textOf(page)).toMatch(/written by.*No model is called/s);
    await press(page, 'Approve');
    await expectText(page, /Approved/);
    await scene.until(run, 'WAITING_FOR_SIGNAL');
    await page.goto(`${scene.server.url}/console/runs/${run}`);
    await expectText(page, /The mail is sent\./);
    const { version } = (await scene.api(runPath(run))).json as { version: number };
    await page.goto(`${scene.server.url}/console/runs/${run}/checkpoints/${version}`);
    await expectText(page, /Conversation.*The mail is sent\./s);
    await shoot(page, 'checkpoint', { operator: 900 });
    await follow(page, 'Fork from here');
    const state = page.getByLabel('State (JSON)');
    await state.fill((await state.inputValue()).replace('short mails', 'mails as short as a telegram'));
    await shoot(page, 'fork', { operator: 900 });
    await press(page, /^Fork from checkpoint \d+$/);
    await expectText(page, /Fork created/);
    await page.getByText('Full state').click();
    await expectText(page, /as short as a telegram/);
  });

  it('sees the answer of a model word by word, while the model writes it', async () => {
    const run = await scene.start('model-loop', { message: 'Hello?' });
    await scene.until(run, 'WAITING_FOR_SIGNAL');
    const page = await scene.open(`/console/runs/${run}`);
    await page.evaluate(RECORD_OUTPUT);
    await scene.api(`${runPath(run)}/signals`, { method: 'POST', body: { name: 'message', value: 'Who are you?' } });
    await expect.poll(() => page.evaluate('window.outputs.length'), POLL_OPTIONS).toBeGreaterThan(1);
    await expectText(page, /Who are you\?\s*assistant\s*I only follow a script\./);
    const outputs: readonly string[] = await page.evaluate('window.outputs');
    const answer = 'I only follow a script. Tell me what customers in ';
    expect(outputs.filter((text) => !`${answer}…`.startsWith(text.slice(0, answer.length)))).toEqual([]);
    expect(await page.locator('#live-output').isVisible()).toBe(false);
  });
});
