import { describe, expect, it } from 'vitest';
import { wrapText } from '../../cli/terminal/line.ts';
import { apiScene } from '../api/scene.ts';

/** A form of so many bytes whose fields all have other names. */
function manyFields(bytes: number): string {
  const names: string[] = [];
  for (let length = 0; length < bytes - 10; length += (names.at(-1)?.length ?? 0) + 1)
    names.push(names.length.toString(36));
  return names.join('&');
}

describe('what costs more to read than to send', () => {
  it('is no form of many fields: anybody may send one to a link', { timeout: 30_000 }, async () => {
    const { app } = apiScene();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const before = process.cpuUsage();
    const answer = await app.request('/approvals/nothing', { method: 'POST', headers, body: manyFields(100 * 1024) });
    const { user } = process.cpuUsage(before);
    expect(answer.status).toBe(400);
    // To compare every name with every other takes fifteen seconds.
    expect(user / 1000).toBeLessThan(3000);
  });

  it('is no text without a space: an agent may ask one, and operators list what is asked', () => {
    const text = 'ä'.repeat(50_000);
    const before = process.cpuUsage();
    expect(wrapText(text, 80).join('')).toBe(text);
    // To measure all that is left for each line takes half a minute.
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(3000);
  });
});
