import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { checkpointStore } from '../../lambda/embedded.ts';
import { accessibilityViolations, overflowingElements } from './looks.ts';
import { agentFile, createScene, POLL_OPTIONS } from './scene.ts';

const scene = createScene([agentFile('purchase'), agentFile('chat'), agentFile('parcel')]);

/** A word that is wider than a phone. */
const UNBROKEN = 'unbroken'.repeat(20);
const TALL = { width: 1280, height: 5000 };
const PHONE = { width: 360, height: 740 };

// Runs in every state that a page can show, with long names, large states and all optional fields.
beforeAll(async () => {
  const store = checkpointStore({ folder: scene.server.folder });
  await store.save({
    run: 'saved',
    agent: UNBROKEN,
    owner: UNBROKEN,
    tags: [UNBROKEN, 'beta'],
    step: 'read',
    name: UNBROKEN,
    labels: { [UNBROKEN]: UNBROKEN },
    model: { id: 'model-1', temperature: 0.2, note: UNBROKEN },
    toolResults: {
      search: [
        { offer: UNBROKEN, price: 1 },
        { offer: 'b', price: 2 },
      ],
      [UNBROKEN]: UNBROKEN,
    },
    state: {
      [UNBROKEN]: UNBROKEN,
      diff: '--- a/plan\n+++ b/plan\n@@ -1 +1 @@\n-one\n+two',
      code: `const a = {\n  b: 1,\n};\nfunction f() {\n  return "${UNBROKEN}";\n}`,
      deep: { a: { b: { c: { d: { e: { f: { g: 1 } } } } } } },
      lines: Array.from({ length: 120 }, (_, i) => `line ${i}`),
      when: new Date(0),
      set: new Set([1, 2]),
    },
  });
  await store.update('saved', (draft: unknown) => {
    Object.assign(draft as object, { diff: 'other', added: UNBROKEN });
  });
  await store.close();
  await scene.start(
    'purchase',
    { item: `a ${UNBROKEN}`, price: 1, editable: true },
    { id: 'asks', owner: 'ann', tags: ['x'] },
  );
  await scene.start('purchase', { item: 'a saw', price: 2 }, { id: 'done' });
  await scene.start('parcel', { to: 'Lisbon', roadFile: '/nowhere' }, { id: 'failed' });
  await scene.start('parcel', { to: UNBROKEN }, { id: 'waits' });
  await scene.start('chat', `Hello ${UNBROKEN}`, { id: 'talk' });
  await Promise.all([scene.until('asks', 'WAITING_FOR_APPROVAL'), scene.until('done', 'WAITING_FOR_APPROVAL')]);
  const comment = `Yes ${UNBROKEN}`;
  await scene.api('/api/runs/done/approvals/buy/decide', {
    method: 'POST',
    body: { answer: 'approve', by: 'user:ann', comment },
  });
  await scene.api('/api/runs/failed/signals', { method: 'POST', body: { name: 'picked up', value: { name: 'Bob' } } });
  await Promise.all([
    scene.until('talk', 'SUCCEEDED'),
    scene.until('done', 'SUCCEEDED'),
    scene.until('failed', 'FAILED'),
  ]);
  await scene.api('/api/runs/talk/fork', { method: 'POST', body: { version: 4, id: 'talk-2' } });
  await scene.until('waits', 'WAITING_FOR_SIGNAL');
}, 120_000);

/** Waits until all lazily loaded parts of a page are there. */
const loaded = (page: Page) =>
  expect.poll(() => page.locator('[data-load], [aria-busy]').count(), POLL_OPTIONS).toBe(0);

describe.each([
  ['the inbox', '/console/inbox'],
  ['an empty inbox', '/console/inbox?as=user:nobody'],
  ['the list of runs', '/console/runs'],
  ['a search that finds nothing', '/console/runs?agent=none&period=1h'],
  ['the start form', '/console/start?agent=parcel'],
  ['a run that waits for approval', '/console/runs/asks'],
  ['a run that waits for a signal', '/console/runs/waits'],
  ['a run that failed', '/console/runs/failed'],
  ['a run that has ended', '/console/runs/done'],
  ['a conversation', '/console/runs/talk'],
  ['a run that a program saved', '/console/runs/saved'],
  ['a checkpoint', '/console/runs/saved/checkpoints/1'],
  ['a checkpoint of a conversation', '/console/runs/talk/checkpoints/6'],
  ['a part of a state', '/console/runs/saved/checkpoints/1?part=state&at=/lines&from=100'],
  ['a diff', '/console/runs/saved/diff?before=1&after=2'],
  ['two checkpoints side by side', '/console/runs/saved/diff?before=1&after=2&view=side'],
  ['the form that starts a run again', '/console/start?from=failed'],
  ['the content of a run', '/console/runs/done/content'],
  ['the list of approvals of a run', '/console/runs/done/approvals'],
  ['the list of forks of a run', '/console/runs/talk/lineage'],
  ['a pending approval', '/console/runs/asks/approvals/buy'],
  ['a decided approval', '/console/runs/done/approvals/buy'],
  ['the cancel form', '/console/runs/waits/cancel'],
  ['the retry form', '/console/runs/failed/retry'],
  ['the signal form', '/console/runs/waits/signal'],
  ['the rewind form', '/console/runs/done/rewind'],
  ['the fork form', '/console/runs/talk/fork?version=4'],
  ['a missing run', '/console/runs/nothing'],
])('%s', (_, path) => {
  it('is accessible on a desktop in light mode and on a phone in dark mode, and fits the phone', async () => {
    const page = await scene.open(path, { viewport: TALL, refusals: [404] });
    await loaded(page);
    await page.evaluate(`document.querySelectorAll('details').forEach((details) => { details.open = true; })`);
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.setViewportSize(PHONE);
    expect(await overflowingElements(page)).toEqual([]);
    expect(await accessibilityViolations(page)).toEqual([]);
  });
});
