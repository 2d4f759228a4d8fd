import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { agentFile, createScene, POLL_OPTIONS } from './scene.ts';

const scene = createScene([agentFile('writer')]);

/** A file whose existence lets the writer finish. */
function stopFile(): { readonly path: string; write(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'waitstate-live-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'stop');
  return { path, write: () => writeFileSync(path, '') };
}

describe('the page of a run that is running', () => {
  it('shows what a step streams as text, until the step is recorded', async () => {
    const stop = stopFile();
    const run = await scene.start('writer', { stopFile: stop.path }, { id: 'live-1' });
    const page = await scene.open(`/console/runs/${run}`);
    const output = page.locator('#live-output pre');
    await expect.poll(() => output.textContent(), POLL_OPTIONS).toMatch(/^<b>Dear<\/b> customers, .*word-3 /);
    expect(await page.locator('#live-output h3').textContent()).toBe('write');
    stop.write();
    await expect.poll(() => page.locator('#live-output').isVisible(), POLL_OPTIONS).toBe(false);
    await expect.poll(() => page.locator('main').innerText(), POLL_OPTIONS).toMatch(/Waiting for\s*signal/i);
  });

  it('misses nothing when its connection is lost and comes back', async () => {
    const stop = stopFile();
    const run = await scene.start('writer', { stopFile: stop.path }, { id: 'live-2' });
    const page = await scene.open(`/console/runs/${run}`, { goesOffline: true });
    await expect.poll(() => page.locator('#live-output pre').textContent(), POLL_OPTIONS).toMatch(/word-1 /);
    await page.context().setOffline(true);
    stop.write();
    await scene.until(run, 'WAITING_FOR_SIGNAL');
    await page.context().setOffline(false);
    await expect.poll(() => page.locator('main').innerText(), POLL_OPTIONS).toMatch(/Waiting for\s*signal/i);
    await expect.poll(() => page.locator('#live-output').isVisible(), POLL_OPTIONS).toBe(false);
    await scene.api(`/api/runs/${run}/signals`, { method: 'POST', body: { name: 'go' } });
    await expect.poll(() => page.locator('main').innerText(), POLL_OPTIONS).toMatch(/Succeeded/);
  });
});
