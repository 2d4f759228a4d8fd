import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { accessibilityViolations, overflowingElements } from './looks.ts';
import { agentFile, createScene, POLL_OPTIONS, runPath } from './scene.ts';
import { shoot } from './shoot.ts';

const scene = createScene([agentFile('purchase')]);
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } as const;
const TOOLS = ['a drill', 'a saw', 'a hammer', 'a ladder'];

const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true }).click();
const textOf = (page: Page) => page.locator('main').innerText();
const expectText = (page: Page, words: RegExp) => expect.poll(() => textOf(page), POLL_OPTIONS).toMatch(words);
const resultOf = async (run: string) => (await scene.api(runPath(run))).json.result;
const votesOf = async (run: string) => (await scene.api(`${runPath(run)}/approvals/buy`)).json.votes;

let people = 0;

/** Starts one run for each tool, all waiting for the same new person. */
async function requests(tools = TOOLS, input: object = {}) {
  const person = `user:p${++people}` as const;
  const runs = tools.map((_, i) => `${person.slice(5)}-order-${i + 1}`);
  for (const [i, item] of tools.entries()) {
    await scene.start('purchase', { item, price: 10 * (i + 1), approvers: [person], ...input }, { id: runs[i] ?? '' });
    await scene.until(runs[i] ?? '', 'WAITING_FOR_APPROVAL');
  }
  return { person, runs, inbox: `/console/inbox?as=${person}` };
}

describe('a person with several requests of one kind', () => {
  it.each([true, false])(
    'selects some, sees each in full, leaves one out, and approves the rest (JavaScript: %s)',
    async (script) => {
      const { inbox, runs, person } = await requests();
      const page = await scene.open(inbox, { javaScriptEnabled: script });
      for (const item of ['a drill', 'a saw', 'a ladder']) await page.getByRole('checkbox', { name: item }).check();
      await press(page, script ? 'Decide 3 selected' : 'Decide selected');
      expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Decide 3 requests together');
      expect(await textOf(page)).toMatch(
        /Buy a drill for \$10\?.*Tools & Sons.*price\s*10.*Buy a saw for \$20\?.*Buy a ladder for \$40\?/s,
      );
      expect(await textOf(page)).not.toMatch(/a hammer/);
      await page.getByRole('checkbox', { name: 'a saw' }).uncheck();
      await page.getByLabel('Comment').fill('For the workshop.');
      await press(page, script ? 'Approve 2' : 'Approve selected');
      await expectText(
        page,
        /2 of 2 requests decided.*a drill.*Your decision is recorded\..*a ladder.*Your decision is recorded\./s,
      );
      for (const run of [runs[0] ?? '', runs[3] ?? '']) {
        await scene.until(run, 'SUCCEEDED');
        expect(await resultOf(run)).toMatchObject({ bought: true, by: [person] });
        expect(await votesOf(run)).toMatchObject([{ by: person, comment: 'For the workshop.' }]);
      }
      for (const run of [runs[1] ?? '', runs[2] ?? '']) expect(await votesOf(run)).toEqual([]);
      await page.getByRole('link', { name: 'Back to the inbox' }).click();
      await expectText(page, /Buy a saw for \$20\?.*Buy a hammer for \$30\?/s);
    },
  );

  it('sees what somebody else did meanwhile, and decides again on what has changed', async () => {
    const [ann, bob] = ['user:ann', 'user:bob'];
    const input = { editable: true, quorum: 2, approvers: [ann, bob] };
    const { runs } = await requests(['a drill', 'a saw', 'a hammer'], input);
    const decide = async (run: string, body: object) => {
      const { contentHash } = (await scene.api(`${runPath(run)}/approvals/buy`)).json;
      await scene.api(`${runPath(run)}/approvals/buy/decide`, {
        method: 'POST',
        body: { by: bob, contentHash, ...body },
      });
    };
    const page = await scene.open(`/console/inbox?as=${ann}`);
    for (const item of ['a drill', 'a saw', 'a hammer']) await page.getByRole('checkbox', { name: item }).check();
    await press(page, 'Decide 3 selected');
    await decide(runs[0] ?? '', { answer: 'reject' });
    await decide(runs[1] ?? '', { answer: 'approve', edits: { price: 19 } });
    await press(page, 'Approve 3');
    await expectText(page, /1 of 3 requests decided/);
    await expectText(
      page,
      /a drill.*Decided meanwhile.*user:bob voted reject.*a saw.*Changed meanwhile.*a hammer.*1 more approval needed/s,
    );
    await press(page, 'Open 1 undecided request again');
    await expectText(page, /Decide 1 request together.*user:bob proposes these changes.*price\s*20\s*19/s);
    await press(page, 'Approve 1');
    await expectText(page, /1 of 1 request decided/);
    await scene.until(runs[1] ?? '', 'SUCCEEDED');
    expect(await resultOf(runs[1] ?? '')).toMatchObject({ bought: true, price: 19, by: [bob, ann] });
  });

  it('keeps the selection when other requests appear and disappear', async () => {
    const { inbox, runs, person } = await requests(['a drill', 'a saw', 'a hammer']);
    const page = await scene.open(inbox);
    await page.evaluate('window.same = true');
    await page.getByRole('checkbox', { name: 'a saw' }).check();
    await page.getByRole('checkbox', { name: 'a hammer' }).check();
    await scene.start('purchase', { item: 'a rope', price: 5, approvers: [person] });
    await expectText(page, /Buy a rope/);
    await scene.api(`${runPath(runs[2] ?? '')}/approvals/buy/decide`, {
      method: 'POST',
      body: { answer: 'reject', by: person },
    });
    await expect.poll(() => textOf(page), POLL_OPTIONS).not.toMatch(/Buy a hammer/);
    expect(await page.evaluate('window.same')).toBe(true);
    expect(await page.getByRole('checkbox', { name: 'a saw' }).isChecked()).toBe(true);
    expect(await page.getByRole('checkbox', { name: 'a drill' }).isChecked()).toBe(false);
    await press(page, 'Decide 1 selected');
    await expectText(page, /Decide 1 request together.*Buy a saw/s);
  });

  it('is asked to select something', async () => {
    const { inbox } = await requests(['a drill', 'a saw']);
    const page = await scene.open(inbox, { javaScriptEnabled: false });
    await press(page, 'Decide selected');
    await expectText(page, /No request is selected/);
    expect(await page.getByRole('checkbox').count()).toBe(2);
  });

  it('decides them on a phone, with the buttons always in view and nothing cut off', async () => {
    const unbroken = 'unbroken'.repeat(20);
    const { inbox, runs } = await requests(['a drill', `a ${unbroken}`], {
      show: { note: unbroken, lines: Array.from({ length: 30 }, (_, i) => `line ${i}`) },
    });
    const page = await scene.open(inbox, PHONE);
    expect(await overflowingElements(page)).toEqual([]);
    await page.getByRole('checkbox', { name: 'a drill' }).tap();
    const box = await page.getByRole('button', { name: 'Decide 1 selected' }).boundingBox();
    expect((box?.y ?? 1000) + (box?.height ?? 0)).toBeLessThanOrEqual(844);
    await page.getByRole('button', { name: 'Decide all 2' }).tap();
    await expectText(page, /Decide 2 requests together/);
    expect(await overflowingElements(page)).toEqual([]);
    for (const y of [0, 700, 100_000]) {
      await page.evaluate(`window.scrollTo(0, ${y})`);
      const bar = await page.getByRole('button', { name: 'Approve 2' }).boundingBox();
      expect([y, (bar?.y ?? 0) > 700, (bar?.y ?? 1000) + (bar?.height ?? 0) <= 844]).toEqual([y, true, true]);
    }
    await page.getByRole('button', { name: 'Reject 2' }).tap();
    await expectText(page, /2 of 2 requests decided.*Rejected/s);
    expect(await overflowingElements(page)).toEqual([]);
    for (const run of runs) await scene.until(run, 'SUCCEEDED');
  });

  it.each([
    ['on a desktop in light mode', { viewport: { width: 1440, height: 900 }, colorScheme: 'light' }],
    ['on a phone in dark mode', { ...PHONE, colorScheme: 'dark' }],
  ] as const)('meets no accessibility violation %s', async (_, options) => {
    const { inbox, runs } = await requests();
    const page = await scene.open(inbox, options);
    await page.getByRole('checkbox', { name: 'a saw' }).check();
    expect(await accessibilityViolations(page)).toEqual([]);
    await press(page, 'Decide all 4');
    await page.getByRole('checkbox', { name: 'a saw' }).uncheck();
    expect(await accessibilityViolations(page)).toEqual([]);
    await scene.api(`${runPath(runs[0] ?? '')}/approvals/buy/withdraw`, {
      method: 'POST',
      body: { reason: 'Rented.' },
    });
    await press(page, 'Approve 3');
    await expectText(page, /2 of 3 requests decided.*Withdrawn/s);
    expect(await accessibilityViolations(page)).toEqual([]);
  });
});

describe('the screenshots of the docs', () => {
  it('show several requests that are decided together', async () => {
    const { inbox } = await requests();
    const page = await scene.open(inbox);
    await press(page, 'Decide all 4');
    await expectText(page, /Decide 4 requests together/);
    await shoot(page, 'together', { operator: 900, phone: 900 });
  });
});
