import { describe, expect, it } from 'vitest';
import { wrapText } from '../../cli/terminal/line.ts';
import { apiScene } from '../api/scene.ts';

/** A form of about this many bytes in which every field has a different name. */
function manyFields(bytes: number): string {
  const names: string[] = [];
  for (let length = 0; length < bytes - 10; length += (names.at(-1)?.length ?? 0) + 1)
    names.push(names.length.toString(36));
  return names.join('&');
}

describe('an input that is cheap to send', () => {
  it('is cheap to read if it is a form with many fields, which anyone can send to an approval link', {
    timeout: 30_000,
  }, async () => {
    const { app } = apiScene();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const before = process.cpuUsage();
    const response = await app.request('/approvals/nothing', { method: 'POST', headers, body: manyFields(100 * 1024) });
    const { user } = process.cpuUsage(before);
    expect(response.status).toBe(400);
    // Comparing every name with every other one takes fifteen seconds.
    expect(user / 1000).toBeLessThan(3000);
  });

  it('is cheap to print if it is a title without spaces, which operators see in a list of approvals', () => {
    const text = 'ä'.repeat(50_000);
    const before = process.cpuUsage();
    expect(wrapText(text, 80).join('')).toBe(text);
    // Measuring the whole rest of the text for each line takes half a minute.
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(3000);
  });
});
