import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { contextFactory } from '../../lambda/checkpoints/engine.ts';
import { checkpointStore, embeddedStorage } from '../../lambda/embedded.ts';
import { createOperator } from '../../lambda/operator/create-operator.ts';
import { systemClock } from '../../lambda/runtime/clock.ts';
import { agentFile, createScene, POLL_OPTIONS, runPath } from './scene.ts';

const scene = createScene([agentFile('purchase'), agentFile('chat'), agentFile('parcel')]);
const DRILL = { item: 'a drill', price: 80 };

const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true }).click();
const follow = (page: Page, name: string | RegExp) => page.getByRole('link', { name, exact: true }).first().click();
const textOf = (page: Page) => page.locator('main').innerText();
const expectText = (page: Page, words: RegExp) => expect.poll(() => textOf(page), POLL_OPTIONS).toMatch(words);
const viewOf = async (run: string) => (await scene.api(runPath(run))).json;
const pageOf = (run: string) => `/console/runs/${run}`;
let files = 0;
const freshFile = () => join(scene.server.folder, `file-${++files}`);

const FORMAT = { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' } as const;

/** Marks a page, to detect whether it was loaded again. */
const mark = (page: Page) => page.evaluate('window.same = true');
const isSame = (page: Page) => page.evaluate('window.same === true');

describe('an operator in the console', () => {
  it('starts a run, sees it wait, opens the request, approves it, and sees the run finish', async () => {
    const page = await scene.open('/');
    await follow(page, 'Start a run');
    await follow(page, 'purchase');
    await page.getByLabel('Input (JSON)').fill('{ "item": "a saw", "price": 30 }');
    await page.getByLabel('Id (optional)').fill('saw');
    await page.getByLabel('Owner (optional)').fill('bob');
    await page.getByLabel('Tags (optional)').fill('tools, sharp');
    await press(page, 'Start run');
    await mark(page);
    await expectText(page, /Run started\..*saw.*owner: bob\s*tools\s*sharp/s);
    await expectText(page, /Waiting for approval.*Waiting for\s*approval: buy/s);
    expect(await isSame(page)).toBe(true);

    const request = await page.context().newPage();
    await request.goto(page.url());
    await follow(request, 'Open request');
    expect(await request.getByRole('heading', { level: 1 }).innerText()).toBe('Buy a saw for $30?');
    expect(await request.getByLabel('Decide as').inputValue()).toBe('user:ann');
    await press(request, 'Approve');
    await expectText(request, /Approved\s*By user:ann/);
    await expectText(request, /The run has ended:\s*Succeeded/);

    await expectText(page, /Succeeded.*find a seller.*pay.*Result\s*bought\s*true\s*price\s*30/s);
    expect(await isSame(page)).toBe(true);
    await follow(request, 'View run');
    await expectText(request, /Approvals.*Buy a saw for \$30\?\s*Approved.*user:ann approved/s);
  });

  it('sees a notice while the connection is lost', async () => {
    await scene.start('purchase', DRILL, { id: 'offline' });
    await scene.until('offline', 'WAITING_FOR_APPROVAL');
    const page = await scene.open(pageOf('offline'), { refusals: [503] });
    const note = page.getByText('Connection lost. This page may be out of date.');
    await page.route('**/changes?*', (route) => route.fulfill({ status: 503 }));
    await expect.poll(() => note.count(), POLL_OPTIONS).toBe(1);
    await page.unroute('**/changes?*');
    await expect.poll(() => note.count(), POLL_OPTIONS).toBe(0);
  });

  it('sees where an input is not JSON, and nothing is started', async () => {
    const page = await scene.open('/console/start?agent=purchase');
    await page.getByLabel('Input (JSON)').fill('{\n  "item": \'a saw\'\n}');
    await page.getByLabel('Id (optional)').fill('wrong');
    await press(page, 'Start run');
    await expectText(page, /Line 2, column 11: strings need double quotes/);
    expect((await scene.api(runPath('wrong'))).status).toBe(404);
  });

  it('sees requests appear in the inbox and disappear after the decision, without a reload', async () => {
    const page = await scene.open('/console/inbox');
    await mark(page);
    const run = await scene.start('purchase', { item: 'a lamp', price: 12 });
    await expectText(page, /Buy a lamp for \$12\?.*approvers: user:ann.*Waiting for.*Decide by/s);
    const other = await scene.open('/console/inbox');
    await follow(other, 'Buy a lamp for $12?');
    await other.getByLabel('Comment').fill('Too dark here? No.');
    await press(other, 'Reject');
    await expectText(other, /Rejected\s*By user:ann/);
    await scene.until(run, 'SUCCEEDED');
    expect((await viewOf(run)).result).toEqual({ bought: false, reason: 'Too dark here? No.' });
    await expect.poll(() => textOf(page), POLL_OPTIONS).not.toMatch(/Buy a lamp/);
    expect(await isSame(page)).toBe(true);
  });

  it('sees only the approvals of the person whose inbox it is', async () => {
    await scene.start('purchase', { item: 'a rope', price: 5, approvers: ['user:bob', 'group:climbers'] });
    const page = await scene.open('/console/inbox');
    await expectText(page, /Buy a rope/);
    await page.getByText('Decide for someone else').click();
    await page.getByLabel('Person').fill('user:ann');
    await press(page, 'Show inbox');
    expect(await textOf(page)).not.toMatch(/Buy a rope/);
    await page.getByLabel('Groups (optional)').fill('group:climbers');
    await press(page, 'Show inbox');
    await expectText(page, /Buy a rope/);
  });

  it('sees the recorded decision after deciding differently in another tab', async () => {
    const run = await scene.start('purchase', DRILL);
    await scene.until(run, 'WAITING_FOR_APPROVAL');
    const first = await scene.open(`${pageOf(run)}/approvals/buy`, { refusals: [409] });
    const second = await first.context().newPage();
    await second.route('**/*', (route) => (route.request().resourceType() === 'xhr' ? undefined : route.continue()));
    await second.goto(first.url());
    await press(first, 'Approve');
    await expectText(first, /Approved\s*By user:ann/);
    await press(second, 'Reject');
    expect(await second.getByRole('alert').innerText()).toMatch(/decided|recorded|approved/i);
    await expectText(second, /Approved\s*By user:ann/);
    await scene.until(run, 'SUCCEEDED');
  });

  it('withdraws a request, and the agent continues as if it was rejected', async () => {
    const run = await scene.start('purchase', DRILL);
    await scene.until(run, 'WAITING_FOR_APPROVAL');
    const page = await scene.open(`${pageOf(run)}/approvals/buy`);
    await page.getByText('Remind or withdraw').click();
    await page.getByLabel('Reason').fill('We rent one.');
    await press(page, 'Withdraw request');
    await expectText(page, /Withdrawn: no decision is needed\s*Withdrawn.*We rent one\./s);
    await scene.until(run, 'SUCCEEDED');
    expect((await viewOf(run)).result).toMatchObject({ reason: 'WITHDRAWN' });
  });

  it('forks a run with an edited state, after seeing where it was not JSON', async () => {
    const run = await scene.start('chat', 'Hello', { id: 'talk' });
    await scene.until(run, 'SUCCEEDED');
    const page = await scene.open(pageOf(run));
    await expectText(page, /user\s*Hello\s*assistant\s*You said: Hello/);
    await follow(page, 'turn 1');
    await follow(page, 'Fork from here');
    const state = page.getByLabel('State (JSON)');
    const whole = await state.inputValue();
    await state.fill(whole.replace('"You said: Hello"', '"Good morning'));
    await press(page, /^Fork from checkpoint \d+$/);
    await expectText(
      page,
      /Line \d+, column \d+: the string that starts here has no closing quote|a string cannot span several lines/,
    );
    await state.fill(whole.replace('"You said: Hello"', '"Good morning"'));
    await page.getByLabel('Id (optional)').fill('talk-2');
    await press(page, /^Fork from checkpoint \d+$/);
    await expectText(page, /Fork created\..*talk-2.*Succeeded.*forked from talk at checkpoint \d+/s);
    expect((await viewOf('talk-2')).result).toBe('Hello / Good morning / You said: Good morning');
    expect((await viewOf('talk')).result).toBe('Hello / You said: Hello / You said: You said: Hello');
    await page.locator('#lineage').scrollIntoViewIfNeeded();
    await expectText(page, /Forks\s*talk\s*Succeeded\s*talk-2\s*Succeeded\s*from checkpoint \d+/);
  });

  it('compares two checkpoints', async () => {
    const run = await scene.start('chat', 'Compare me');
    await scene.until(run, 'SUCCEEDED');
    const { version } = (await viewOf(run)) as { version: number };
    const page = await scene.open(`${pageOf(run)}/checkpoints/${version}`);
    await page.getByLabel('Compare with').selectOption('4');
    await press(page, 'Compare');
    await expectText(page, /Checkpoint 4 to \d+.*1 added.*assistant.*You said: You said: Compare me/s);
    await follow(page, 'Side by side');
    await expectText(page, /You said: You said: Compare me/);
    const folded = page.getByText(/^\d+ equal lines$/).first();
    expect(await page.getByText('"Compare me"').first().isVisible()).toBe(false);
    await folded.click();
    expect(await page.getByText('"Compare me"').first().isVisible()).toBe(true);
  });

  it('rewinds a run, and decides its approval again', async () => {
    const run = await scene.start('purchase', DRILL);
    await scene.link(run);
    const page = await scene.open(`${pageOf(run)}/approvals/buy`);
    await press(page, 'Approve');
    await scene.until(run, 'SUCCEEDED');
    await page.goto(scene.server.url + pageOf(run));
    await follow(page, 'Rewind');
    await page.getByLabel('From checkpoint').selectOption('1');
    await press(page, 'Load');
    await press(page, 'Rewind to checkpoint 1');
    await expectText(page, /The run resumes from the checkpoint\./);
    await expectText(page, /external changes.*|rewind/s);
    await expectText(page, /Waiting for approval/);
    await follow(page, 'Open request');
    await press(page, 'Approve');
    await expectText(page, /The run has ended:\s*Succeeded/);
  });

  it('rewinds a run with an edited state', async () => {
    const run = await scene.start('chat', 'Hello');
    await scene.until(run, 'SUCCEEDED');
    const page = await scene.open(pageOf(run));
    await follow(page, 'turn 1');
    await follow(page, 'Rewind to here');
    const state = page.getByLabel('State (JSON)');
    await state.fill((await state.inputValue()).replace('"You said: Hello"', '"Good evening"'));
    await press(page, /^Rewind to checkpoint \d+$/);
    await expectText(page, /Succeeded.*Hello \/ Good evening \/ You said: Good evening/s);
    expect((await viewOf(run)).result).toBe('Hello / Good evening / You said: Good evening');
  });

  it('cancels a run, and its completed steps are undone', async () => {
    const run = await scene.start('parcel', { to: 'Lisbon' });
    await scene.until(run, 'WAITING_FOR_SIGNAL');
    const page = await scene.open(pageOf(run));
    await follow(page, 'Cancel');
    await page.getByLabel('Reason (optional)').fill('The customer moved.');
    await press(page, 'Cancel the run');
    await expectText(page, /being cancelled|Cancelled/);
    await expectText(page, /Cancelled.*The customer moved\./s);
    await expectText(page, /undo.*pack|pack.*undo/s);
  });

  it('sends a signal, sees the run fail, and retries it', async () => {
    const roadFile = freshFile();
    const run = await scene.start('parcel', { to: 'Lisbon', roadFile });
    await scene.until(run, 'WAITING_FOR_SIGNAL');
    const page = await scene.open(pageOf(run));
    await expectText(page, /Waiting for\s*signal picked up/);
    await follow(page, 'picked up');
    await page.getByLabel('Value (JSON)').fill('{ "name": "Ann" }');
    await press(page, 'Send the signal');
    await expectText(page, /Failed.*The road is closed\..*deliver/s);
    writeFileSync(roadFile, '');
    await follow(page, 'Retry');
    await press(page, 'Retry the run');
    await expectText(page, /Succeeded.*delivered\s*true\s*by\s*Ann/s);
  });

  it('sees and enters local times, with UTC in tooltips and in the URL of a search', async () => {
    const run = await scene.start('purchase', DRILL, { id: 'local-time' });
    const page = await scene.open('/console/runs?from=2026-01-02T10:00', { timezoneId: 'America/New_York' });
    const from = page.getByLabel('From', { exact: true });
    expect(await from.inputValue()).toBe('2026-01-02T05:00');
    await page.getByLabel('Run', { exact: true }).fill('local');
    await page.getByLabel('Agent').selectOption('purchase');
    await from.fill('2026-07-01T08:30');
    await press(page, 'Search');
    // No empty fields, and daylight saving time is applied.
    await expect
      .poll(() => Object.fromEntries(new URL(page.url()).searchParams))
      .toEqual({ id: 'local', agent: 'purchase', from: '2026-07-01T12:30' });
    await page.goto(`${scene.server.url}${pageOf(run)}`);
    const started = page.locator('time[data-at]').first();
    const [shown, title] = [await started.innerText(), await started.getAttribute('title')];
    expect(title).toBe(
      `${new Intl.DateTimeFormat('en-GB', FORMAT).format(new Date((await started.getAttribute('datetime')) ?? ''))} UTC`,
    );
    expect(shown).not.toBe(title?.replace(' UTC', ''));
  });

  it('sees what came of a run that was rejected, in the list and on its page', async () => {
    const run = await scene.start('purchase', DRILL, { id: 'refused' });
    await scene.until(run, 'WAITING_FOR_APPROVAL');
    const page = await scene.open('/console/runs?id=refused');
    await expect.poll(() => page.locator('#inbox-count').innerText(), POLL_OPTIONS).toMatch(/\d/);
    await scene.api(`${runPath(run)}/approvals/buy/decide`, {
      method: 'POST',
      body: { answer: 'reject', by: 'user:ann', comment: 'We have one.' },
    });
    await expectText(page, /Succeeded\s*rejected by user:ann · bought: false, reason: We have one\./);
    expect(await page.locator('tbody .badge.ok').count()).toBe(0);
    await follow(page, 'refused');
    await expectText(page, /The request was rejected by user:ann/);
    // The total of a run that has ended is the time that it took, and stays the same.
    const legend = () => page.locator('.legend').innerText();
    const before = await legend();
    expect(before).toMatch(/Total: .*working\s.*waiting\s/s);
    await page.reload();
    expect(await legend()).toBe(before);
  });

  it('sees why a run that nobody takes is not running', async () => {
    const { records, payloads } = embeddedStorage({ folder: scene.server.folder });
    const contexts = contextFactory({ records, payloads }, { writer: 'test' });
    const operator = createOperator({ contexts, clock: systemClock, random: Math.random, log: () => {} });
    await operator.start({ agent: 'nobody', id: 'stuck' });
    await Promise.all([records.close(), payloads.close()]);
    const page = await scene.open(pageOf('stuck'));
    await expectText(
      page,
      /Ready, but not running since .*No agent "nobody" is known here\. The run starts when one is deployed\./s,
    );
  });

  it('reaches everything on the page of a run with the keyboard, after skipping the navigation', async () => {
    const run = await scene.start('purchase', DRILL, { tags: ['keys'] });
    await scene.until(run, 'WAITING_FOR_APPROVAL');
    const page = await scene.open(pageOf(run));
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content');
    await page.keyboard.press('Enter');
    const seen: string[] = [];
    for (let i = 0; i < 40; i++) {
      await page.keyboard.press('Tab');
      const [text, isVisible] = (await page.evaluate(`(() => {
        const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
        return [document.activeElement.textContent.trim(), outlineStyle !== 'none' && outlineWidth !== '0px'];
      })()`)) as [string, boolean];
      if (await page.evaluate('document.activeElement === document.body')) break;
      expect([text, isVisible]).toEqual([text, true]);
      seen.push(text);
    }
    for (const text of ['Runs', 'keys', 'Signal', 'Fork', 'Rewind', 'Cancel', 'Open request', 'start', 'find a seller'])
      expect(seen).toContain(text);
  });

  it('sees where a process crashed, and that another one resumed the run', async () => {
    const run = await scene.start('parcel', { to: 'Lisbon', crashFile: freshFile() });
    const page = await scene.open(pageOf(run));
    await expectText(page, /1 crash.*lost to a crash/s);
    await expectText(page, /label/);
  });

  it('filters runs by status, agent, owner, tag and part of the id, and sees them change', async () => {
    const page = await scene.open('/console/runs?agent=purchase&owner=carol');
    await expectText(page, /No matching runs/);
    const run = await scene.start('purchase', DRILL, { id: 'find-me-7', owner: 'carol', tags: ['found'] });
    await scene.until(run, 'WAITING_FOR_APPROVAL');
    await expectText(page, /find-me-7/);
    expect(await page.locator('tbody tr').count()).toBe(1);
    for (const [search, isFound] of [
      ['?tag=found', true],
      ['?tag=lost', false],
      ['?id=me-7', true],
      ['?id=me-8', false],
      ['?status=WAITING_FOR_APPROVAL&owner=carol', true],
      ['?status=FAILED&owner=carol', false],
      ['?agent=chat&owner=carol', false],
      ['?period=1h&owner=carol', true],
      ['?to=2020-01-01T00:00&owner=carol', false],
    ] as const) {
      await page.goto(`${scene.server.url}/console/runs${search}`);
      expect([search, /find-me-7/.test(await textOf(page))]).toEqual([search, isFound]);
    }
    await page.goto(`${scene.server.url}/console/runs?owner=carol`);
    await mark(page);
    await expectText(page, /find-me-7\s*Waiting for approval/);
    await scene.api(`${runPath(run)}/approvals/buy/decide`, {
      method: 'POST',
      body: { answer: 'approve', by: 'user:ann' },
    });
    await expectText(page, /find-me-7\s*Succeeded/);
    expect(await isSame(page)).toBe(true);
  });

  it('decides in the console without JavaScript', async () => {
    const run = await scene.start('purchase', DRILL);
    await scene.until(run, 'WAITING_FOR_APPROVAL');
    const page = await scene.open('/console/inbox', { javaScriptEnabled: false });
    await page.goto(scene.server.url + pageOf(run));
    await follow(page, 'Open request');
    await press(page, 'Approve');
    expect(await textOf(page)).toMatch(/Approved\s*By user:ann/);
    await scene.until(run, 'SUCCEEDED');
    await follow(page, 'View run');
    expect(await textOf(page)).toMatch(/Succeeded/);
  });
});

describe('an unauthenticated visitor', () => {
  it('sees nothing of the console', async () => {
    const page = await scene.openLink(`${scene.server.url}/console/runs`, { refusals: [401] });
    expect(await page.locator('body').innerText()).toMatch(/401/);
    expect(await page.locator('body').innerText()).not.toMatch(/purchase/);
  });
});

describe('the page of a checkpoint', () => {
  it('shows a state that is too large for one page in parts', async () => {
    const lines = Array.from({ length: 3000 }, (_, i) => `line ${i} of a long text`);
    const store = checkpointStore({ folder: scene.server.folder });
    await store.save({ run: 'long', state: { lines } });
    await store.close();
    const page = await scene.open('/console/runs/long/checkpoints/1');
    const count = () => page.getByText(/line \d+ of a long text/).count();
    const before = await count();
    expect(before).toBeLessThan(3000);
    await page.getByRole('link', { name: 'Show more' }).first().click();
    await expect.poll(count, POLL_OPTIONS).toBeGreaterThan(before);
    expect(new URL(page.url()).search).toBe('');
  });
});
