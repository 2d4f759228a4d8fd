import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { accessibilityViolations, overflowingElements } from './looks.ts';
import { agentFile, createScene, POLL_OPTIONS, runPath } from './scene.ts';

const scene = createScene([agentFile('purchase')]);
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true } as const;
const BERLIN = { timezoneId: 'Europe/Berlin' };

const press = (page: Page, name: string) => page.getByRole('button', { name }).click();
const textOf = (page: Page) => page.locator('main').innerText();
const expectText = (page: Page, words: RegExp) => expect.poll(() => textOf(page), POLL_OPTIONS).toMatch(words);
const buy = async (id: string, person: string) => {
  await scene.start('purchase', { item: 'a saw', price: 20, approvers: [person] }, { id });
  await scene.until(id, 'WAITING_FOR_APPROVAL');
};

/** Five days from now, as the field of a form shows it in Berlin. */
const inFiveDays = (): string => {
  const format = new Intl.DateTimeFormat('sv-SE', {
    dateStyle: 'short',
    timeStyle: 'short',
    timeZone: 'Europe/Berlin',
  });
  return format.format(Date.now() + 5 * 86_400_000).replace(' ', 'T');
};

describe('ann, who is away, and cho, who answers for her', () => {
  it('agree on it in the console, decide by link and together, and end it', async () => {
    const ann = await scene.open('/console/inbox?as=user:ann', BERLIN);
    await ann.getByRole('link', { name: 'Away' }).click();
    expect(await textOf(ann)).toMatch(/Times are in your time zone/);
    await ann.getByRole('textbox', { name: 'Who answers' }).fill('user:cho');
    const until = inFiveDays();
    await ann.getByLabel('Until').fill(until);
    expect(await accessibilityViolations(ann)).toEqual([]);
    await press(ann, 'Delegate');
    await expectText(ann, /user:cho answers for user:ann\s+Until .*\(in 5 d\)/);
    const { delegations } = (await scene.api('/api/delegations?all=true')).json as {
      delegations: readonly { readonly until: string }[];
    };
    // The form of a page in Berlin means the time in Berlin.
    const expected = Date.now() + 5 * 86_400_000;
    expect(Math.abs(Date.parse(delegations[0]?.until ?? '') - expected)).toBeLessThan(120_000);

    // By the link that cho gets, on a phone.
    await buy('saw-1', 'user:ann');
    const cho = await scene.openLink(await scene.link('saw-1', 'user:cho'), PHONE);
    expect(await textOf(cho)).toMatch(/You decide as user:cho for user:ann, who is away\./);
    await press(cho, 'Approve');
    await expectText(cho, /Approved\s+By user:cho for user:ann/);
    await scene.until('saw-1', 'SUCCEEDED');
    const run = await scene.open('/console/runs/saw-1/approvals');
    expect(await textOf(run)).toMatch(/user:cho for user:ann/);

    // Two requests together, on the page that cho sees.
    for (const id of ['saw-2', 'saw-3']) await buy(id, 'user:ann');
    const inbox = await scene.open('/console/inbox?as=user:cho', PHONE);
    expect(await textOf(inbox)).toMatch(/You answer for user:ann/);
    await press(inbox, 'Decide all 2');
    expect(await inbox.getByLabel('Decide as').locator('option:checked').innerText()).toBe('user:cho for user:ann');
    await press(inbox, 'Approve 2');
    await expectText(inbox, /2 of 2 requests decided/);
    expect((await scene.api(`${runPath('saw-3')}/approvals/buy`)).json.votes).toMatchObject([
      { by: 'user:cho', for: 'user:ann' },
    ]);

    // Ann is back: cho's link no longer decides.
    await buy('saw-4', 'user:ann');
    const link = await scene.link('saw-4', 'user:cho');
    await ann.reload();
    await press(ann, 'End now');
    await expectText(ann, /user:ann does not answer for anyone/);
    const late = await scene.openLink(link);
    expect(await textOf(late)).toMatch(/This link can no longer decide\s+user:cho no longer answers for user:ann/);
    expect(await late.getByRole('button', { name: 'Approve' }).count()).toBe(0);
  });

  it.each([390, 1440])('see pages that fit a width of %i', async (width) => {
    await scene.api('/api/delegations', {
      method: 'POST',
      body: {
        ...{ person: `user:${'long'.repeat(30)}`, delegate: 'user:dan', createdBy: 'user:admin' },
        until: new Date(Date.now() + 86_400_000).toISOString(),
      },
    });
    for (const path of ['/console/away', '/console/away?as=user:dan', '/console/inbox?as=user:dan']) {
      const page = await scene.open(path, { viewport: { width, height: 844 } });
      expect([path, await overflowingElements(page)]).toEqual([path, []]);
      expect(await accessibilityViolations(page)).toEqual([]);
    }
  });
});
