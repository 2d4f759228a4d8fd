import { describe, expect, it } from 'vitest';
import { ASSETS, FILES } from '../../lambda/console/assets.ts';
import { buildAssets } from '../../lambda/console/browser/build.ts';

describe('the built assets', () => {
  it('match their sources (otherwise run `npm run assets`)', async () => {
    const built = await buildAssets();
    expect(Object.fromEntries(built.map(({ role, file }) => [role, file]))).toEqual(FILES);
    for (const { file, type, body } of built) expect(ASSETS.get(file)).toEqual({ type, body });
    expect(ASSETS.size).toBe(built.length);
  });

  it('are small', () => {
    expect(Buffer.byteLength(ASSETS.get(FILES.script)?.body ?? '')).toBeLessThan(15_000);
    expect(Buffer.byteLength(ASSETS.get(FILES.style)?.body ?? '')).toBeLessThan(27_000);
  });

  it('use nothing that the content security policy forbids', () => {
    const script = ASSETS.get(FILES.script)?.body ?? '';
    expect(script).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|eval\(|new Function/);
    expect(ASSETS.get(FILES.style)?.body).not.toMatch(/url\(|@import/);
  });
});
