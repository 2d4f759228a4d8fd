import { describe, expect, it } from 'vitest';
import { run } from './scene.ts';

describe('waitstate conformance', () => {
  it('reports a problem for each check if the server does not respond', async () => {
    const { code, out, json } = await run(['conformance', '--url', 'http://127.0.0.1:9', '--json']);
    expect([code, out.includes('fetch failed')]).toEqual([1, true]);
    const checks = json<{ check: string; ok: boolean; problem: string }>();
    expect(checks.length).toBeGreaterThan(10);
    expect(checks.filter(({ ok }) => ok)).toEqual([]);
  });

  it('refuses options that exclude each other', async () => {
    for (const args of [
      ['--exec', 'x', '--url', 'http://127.0.0.1:9'],
      ['--exec', 'x', '--worker'],
      ['--worker'],
      ['--key', 'k'],
      ['--exec', 'x', '--key', 'k'],
    ]) {
      const refused = await run(['conformance', ...args]);
      expect([refused.code, refused.err]).toEqual([
        2,
        expect.stringMatching(/--exec starts a server|--(worker|key) needs --url/),
      ]);
    }
  });
});
