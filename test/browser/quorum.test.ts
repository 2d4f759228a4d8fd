import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { runIn } from '../cli/scene.ts';
import { agentFile, createScene, POLL_OPTIONS, runPath } from './scene.ts';

const scene = createScene([agentFile('refund')]);
const PAGE = (run: string) => `/console/runs/${run}/approvals/pay`;
const FORGED = { headers: { accept: 'text/html', 'sec-fetch-site': 'same-origin' }, maxRedirects: 0 };

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const textOf = (page: Page) => page.locator('main').innerText();
const expectText = (page: Page, words: RegExp) => expect.poll(() => textOf(page), POLL_OPTIONS).toMatch(words);

/** A run that waits for two members of finance, and what it has paid. */
async function refund(id: string) {
  const paidFile = join(scene.server.folder, `${id}.txt`);
  await scene.start('refund', { amount: 80, paidFile }, { id });
  const [ann, bob] = [await scene.link(id, 'user:ann'), await scene.link(id, 'user:bob')];
  const approval = async () =>
    (await scene.api(`${runPath(id)}/approvals/pay`)).json as {
      readonly status: string;
      readonly contentHash: string;
      readonly votes: readonly { readonly by: string; readonly counts: boolean }[];
    };
  const paid = () => (existsSync(paidFile) ? readFileSync(paidFile, 'utf8') : '');
  return { ann, bob, approval, paid };
}

describe('ann, bob and zed', () => {
  it('pay the amount that bob proposes only after ann approves it, because her approval was for another amount', async () => {
    const { ann, bob, approval, paid } = await refund('edited');
    const annPage = await scene.openLink(ann);
    expect(await textOf(annPage)).toMatch(/Pay back \$80\?.*0 of 2 needed/s);
    await press(annPage, 'Approve');
    await expectText(annPage, /You approved this.*1 more approval needed/s);

    const bobPage = await scene.openLink(bob);
    expect(await textOf(bobPage)).toMatch(/1 of 2 needed/);
    await bobPage.getByText('Approve with changes').click();
    await bobPage.getByLabel(/\(JSON\)/).fill('{ "amount": 79 }');
    await press(bobPage, 'Approve');
    await expectText(bobPage, /You approved this.*1 more approval needed/s);

    // On the page that ann has open.
    await expectText(annPage, /user:bob proposes these changes.*amount\s*80\s*79/s);
    await expectText(annPage, /user:ann.*Approved before.*Does not count any more/s);
    expect(await textOf(annPage)).toMatch(/1 of 2 needed/);
    const inbox = await scene.open('/console/inbox?as=user:ann&groups=group:finance');
    expect(await textOf(inbox)).toMatch(/user:bob proposes amount 79 instead of 80/);
    expect(await approval()).toMatchObject({
      status: 'PENDING',
      votes: [
        { by: 'user:ann', counts: false },
        { by: 'user:bob', counts: true },
      ],
    });
    expect(paid()).toBe('');

    await press(annPage, 'Approve changes');
    await expectText(annPage, /The run has ended:\s*Succeeded/);
    expect(paid()).toBe('79\n');
    expect((await scene.api(runPath('edited'))).json.result).toEqual({ paid: 79, by: ['user:bob', 'user:ann'] });
  });

  it('have no vote of zed, who is in no group: he is not offered, and a forged form is refused', async () => {
    const { ann, approval, paid } = await refund('console');
    const annPage = await scene.openLink(ann);
    await press(annPage, 'Approve');
    await expectText(annPage, /1 more approval needed/);

    const page = await scene.open(`${PAGE('console')}?as=user:zed`, { refusals: [403] });
    expect(await page.getByLabel('Decide as').locator('option').allInnerTexts()).toEqual(['user:bob']);
    expect(await page.locator('[name=member]').count()).toBe(0);
    const { contentHash } = await approval();
    const url = scene.server.url + PAGE('console');
    for (const who of [{ by: 'user:zed' }, { member: 'user:zed' }, { by: 'user:bob', member: 'user:zed' }]) {
      const forged = await page.request.post(url, { ...FORGED, form: { answer: 'approve', contentHash, ...who } });
      expect([forged.status(), await forged.text()]).toEqual([403, expect.stringContaining('is not an approver')]);
    }
    const together = await page.request.post(`${scene.server.url}/console/inbox/decide`, {
      ...FORGED,
      form: { answer: 'approve', by: 'user:zed', list: 'console/pay', 'item-0': `console/pay/${contentHash}` },
    });
    expect(await together.text()).toMatch(/0 of 1 request decided/);
    // In the browser, too, with a form that was changed.
    await page.evaluate(`document.querySelector('#by option').value = 'user:zed'`);
    await press(page, 'Approve');
    expect(await page.getByRole('alert').innerText()).toMatch(/"user:zed" is not an approver/);

    expect((await approval()).votes.map(({ by }) => by)).toEqual(['user:ann']);
    expect((await scene.api(runPath('console'))).json.status).toBe('WAITING_FOR_APPROVAL');
    expect(paid()).toBe('');
  });

  it('have no vote of zed by command line either, until bob completes the quorum', async () => {
    const { approval, paid } = await refund('command');
    const command = runIn(scene.server.folder);
    expect((await command(['approve', 'command', '--as', 'user:ann'])).code).toBe(0);
    const zed = await command(['approve', 'command', '--as', 'user:zed', '--json']);
    expect([zed.code, zed.error().code]).toEqual([5, 'NOT_AN_APPROVER']);
    const all = ['approve', '--agent', 'refund', '--name', 'pay', '--as', 'user:zed', '--yes', '--json'];
    expect((await command(all)).error().code).toBe('APPROVAL_NOT_FOUND');
    expect((await approval()).votes.map(({ by }) => by)).toEqual(['user:ann']);
    expect(paid()).toBe('');
    expect((await command(['approve', 'command', '--as', 'user:bob'])).code).toBe(0);
    await scene.until('command', 'SUCCEEDED');
    expect(paid()).toBe('80\n');
  });
});
