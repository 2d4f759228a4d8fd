import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { accessibilityViolations, overflowingElements } from './looks.ts';
import { agentFile, createScene, POLL_OPTIONS, runPath } from './scene.ts';

const scene = createScene([agentFile('purchase')]);
/** A word that is wider than a phone. */
const UNBROKEN = 'unbroken'.repeat(20);
const DRILL = { item: 'a drill', price: 80 };

const approve = (page: Page) => page.getByRole('button', { name: 'Approve', exact: true }).click();
const reject = (page: Page) => page.getByRole('button', { name: 'Reject' }).click();
const textOf = (page: Page) => page.locator('main').innerText();
const expectText = (page: Page, words: RegExp) => expect.poll(() => textOf(page), POLL_OPTIONS).toMatch(words);
const resultOf = async (run: string) => (await scene.api(runPath(run))).json.result;

/** Keeps a page as loaded: its polling gets no response. */
const stopPolling = (page: Page) =>
  page.route('**/*', (route) => (route.request().resourceType() === 'xhr' ? undefined : route.continue()));

async function requestApproval(input: object = {}) {
  const run = await scene.start('purchase', { ...DRILL, ...input });
  return { run, link: await scene.link(run) };
}

describe('an approver with a link', () => {
  it('sees the request, approves it, and sees the run finish without a reload', async () => {
    const { run, link } = await requestApproval();
    const page = await scene.openLink(link);
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Buy a drill for $80?');
    expect(await textOf(page)).toMatch(/Tools & Sons/);
    expect(await resultOf(run)).toBeUndefined();
    await page.getByLabel('Comment').fill('A good one.');
    await approve(page);
    await page.evaluate('window.same = true');
    await expectText(page, /Approved.*A good one\./s);
    await expectText(page, /The run has ended:\s*Succeeded/);
    expect(await page.evaluate('window.same')).toBe(true);
    expect(await resultOf(run)).toEqual({ bought: true, price: 80, by: ['user:ann'] });
  });

  it('rejects, and the agent receives the comment', async () => {
    const { run, link } = await requestApproval();
    const page = await scene.openLink(link);
    await page.getByLabel('Comment').fill('We have one.');
    await reject(page);
    await expectText(page, /Rejected.*We have one\./s);
    await scene.until(run, 'SUCCEEDED');
    expect(await resultOf(run)).toEqual({ bought: false, reason: 'We have one.' });
  });

  it('changes nothing by viewing the page', async () => {
    const { run, link } = await requestApproval();
    const before = (await scene.api(runPath(run))).json;
    const page = await scene.openLink(link);
    await page.reload();
    expect((await scene.api(runPath(run))).json).toEqual(before);
  });

  it('sees on the open page that the request has expired', async () => {
    const { run, link } = await requestApproval({ timeoutSeconds: 4 });
    const page = await scene.openLink(link);
    await expectText(page, /Expired: no decision in time/);
    await expect.poll(() => page.getByRole('button', { name: 'Reject' }).count(), POLL_OPTIONS).toBe(0);
    await scene.until(run, 'SUCCEEDED');
    expect(await resultOf(run)).toEqual({ bought: false, reason: 'EXPIRED' });
  });

  it('sees that a decision after the deadline is not accepted', async () => {
    const { run, link } = await requestApproval({ timeoutSeconds: 8 });
    // Without JavaScript the page stays as loaded.
    const page = await scene.openLink(link, { refusals: [410], javaScriptEnabled: false });
    await scene.until(run, 'SUCCEEDED');
    await approve(page);
    await expectText(page, /Expired: no decision in time/);
    expect(await page.getByRole('alert').innerText()).toMatch(/expired|over|late/i);
    expect(await resultOf(run)).toEqual({ bought: false, reason: 'EXPIRED' });
  });

  it('sees the recorded decision after approving in one tab and rejecting in another', async () => {
    const { run, link } = await requestApproval();
    const first = await scene.openLink(link, { refusals: [409] });
    const second = await first.context().newPage();
    await stopPolling(second);
    await second.goto(link);
    await approve(first);
    await expectText(first, /Approved/);
    await second.getByLabel('Comment').fill('Rather not.');
    await reject(second);
    expect(await second.getByRole('alert').innerText()).toMatch(/decided|recorded|approved/i);
    await expectText(second, /Approved\s*By user:ann/);
    await scene.until(run, 'SUCCEEDED');
    expect(await resultOf(run)).toMatchObject({ bought: true });
  });

  it('can approve twice, and one decision is recorded', async () => {
    const { run, link } = await requestApproval();
    const first = await scene.openLink(link);
    const second = await first.context().newPage();
    await stopPolling(second);
    await second.goto(link);
    await approve(first);
    await expectText(first, /Approved/);
    await approve(second);
    await expectText(second, /Approved\s*By user:ann/);
    expect(await second.getByRole('alert').count()).toBe(0);
    await scene.until(run, 'SUCCEEDED');
  });

  it('cannot approve what was not shown', async () => {
    const { run, link } = await requestApproval();
    const page = await scene.openLink(link, { refusals: [409] });
    await page.evaluate(`document.querySelector('[name=contentHash]').value = 'another hash'`);
    await page.getByLabel('Comment').fill('Yes.');
    await approve(page);
    expect(await page.getByRole('alert').innerText()).toMatch(/has changed since you loaded it/);
    expect(await page.getByLabel('Comment').inputValue()).toBe('Yes.');
    expect((await scene.api(runPath(run))).json.status).toBe('WAITING_FOR_APPROVAL');
    await approve(page);
    await scene.until(run, 'SUCCEEDED');
  });

  it('decides again when facts changed, and sees both values', async () => {
    const priceFile = join(scene.server.folder, 'price.txt');
    writeFileSync(priceFile, '95');
    const { run, link } = await requestApproval({ priceFile });
    const first = await scene.openLink(link);
    await approve(first);
    await expectText(first, /Waiting for approval/);
    const second = await scene.openLink(await scene.link(run, 'user:ann', 2));
    expect(await textOf(second)).toMatch(/for the second time.*Buy a drill for \$95\?.*Facts that changed.*80.*95/s);
    await approve(second);
    await expectText(second, /The run has ended:\s*Succeeded/);
    await expectText(first, /The run has ended:\s*Succeeded/);
    expect(await resultOf(run)).toMatchObject({ price: 95 });
  });

  it('decides together with another approver if two are needed', async () => {
    const { run, link } = await requestApproval({ approvers: ['user:ann', 'user:bob'], quorum: 2 });
    const ann = await scene.openLink(link);
    const bob = await scene.openLink(await scene.link(run, 'user:bob'));
    expect(await textOf(bob)).toMatch(/0 of 2 needed/);
    await approve(ann);
    await expectText(ann, /You approved this.*1 more approval needed/s);
    await expectText(bob, /1 of 2 needed.*user:ann\s*Approved/s);
    expect((await scene.api(runPath(run))).json.status).toBe('WAITING_FOR_APPROVAL');
    await approve(bob);
    await expectText(ann, /The run has ended:\s*Succeeded/);
    expect(await resultOf(run)).toMatchObject({ by: ['user:ann', 'user:bob'] });
  });

  it.each([true, false])(
    'sees where changes are not JSON, and submits corrected ones (JavaScript: %s)',
    async (script) => {
      const { run, link } = await requestApproval({ editable: true });
      const page = await scene.openLink(link, { javaScriptEnabled: script, refusals: [400] });
      await page.getByText('Approve with changes').click();
      const editor = page.getByLabel(/\(JSON\)/);
      await editor.fill('{\n  "price": 70,\n}');
      await page.getByLabel('Comment').fill('Cheaper.');
      await approve(page);
      await expectText(page, /Line 2, column 14/);
      expect(await editor.inputValue()).toBe('{\n  "price": 70,\n}');
      expect(await page.getByLabel('Comment').inputValue()).toBe('Cheaper.');
      await editor.fill('{ "price": 70 }');
      await approve(page);
      await scene.until(run, 'SUCCEEDED');
      expect(await resultOf(run)).toMatchObject({ price: 70 });
      await page.goto(link);
      expect(await textOf(page)).toMatch(/With these changes:\s*price\s*70/);
    },
  );

  it('decides without JavaScript, and sees the outcome', async () => {
    const { run, link } = await requestApproval();
    const page = await scene.openLink(link, { javaScriptEnabled: false });
    await page.getByLabel('Comment').fill('No script.');
    await approve(page);
    expect(await textOf(page)).toMatch(/Approved\s*By user:ann.*No script\./s);
    await scene.until(run, 'SUCCEEDED');
    await page.reload();
    expect(await textOf(page)).toMatch(/The run has ended:\s*Succeeded/);
  });

  it('decides with the keyboard alone', async () => {
    const { run, link } = await requestApproval();
    const page = await scene.openLink(link);
    const focused = () => page.evaluate('document.activeElement.textContent.trim() || document.activeElement.id');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Skip to content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('comment');
    await page.keyboard.type('By keyboard.');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Approve');
    expect(await page.evaluate(`getComputedStyle(document.activeElement).outlineStyle`)).toBe('solid');
    await page.keyboard.press('Enter');
    await expectText(page, /Approved\s*By user:ann.*By keyboard\./s);
    await scene.until(run, 'SUCCEEDED');
  });

  it('decides on a phone without scrolling sideways', async () => {
    const { run, link } = await requestApproval({
      item: `a ${UNBROKEN}`,
      editable: true,
      approvers: ['user:ann', `user:${UNBROKEN}`],
      show: { note: UNBROKEN, [UNBROKEN]: 1, offers: [{ ...DRILL, note: UNBROKEN }, DRILL], lines: `a\n${UNBROKEN}` },
    });
    const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
    const page = await scene.openLink(link, phone);
    expect(await overflowingElements(page)).toEqual([]);
    await page.getByRole('button', { name: 'Approve', exact: true }).tap();
    await expectText(page, /The run has ended:\s*Succeeded/);
    expect(await overflowingElements(page)).toEqual([]);
    await scene.until(run, 'SUCCEEDED');
  });

  it.each(['light', 'dark'] as const)(
    'meets no accessibility violation before and after the decision in %s mode',
    async (colorScheme) => {
      const { link } = await requestApproval({ editable: true });
      const page = await scene.openLink(link, { colorScheme });
      expect(await accessibilityViolations(page)).toEqual([]);
      await page.getByText('Approve with changes').click();
      await page.getByLabel(/\(JSON\)/).fill('{');
      await approve(page);
      await expectText(page, /Line 1/);
      expect(await accessibilityViolations(page)).toEqual([]);
      await page.getByLabel(/\(JSON\)/).fill('');
      await approve(page);
      await expectText(page, /The run has ended:\s*Succeeded/);
      expect(await accessibilityViolations(page)).toEqual([]);
    },
  );

  it('sees an error page for a forged link', async () => {
    const page = await scene.openLink(`${scene.server.url}/approvals/${'x'.repeat(43)}`, { refusals: [404] });
    expect(await textOf(page)).toMatch(/404/);
    expect(await accessibilityViolations(page)).toEqual([]);
  });
});
