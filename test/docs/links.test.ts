import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { headings, links, pages, root } from './markdown.ts';

describe.each(pages)('$path', (page) => {
  it('links only to files and headings that exist', () => {
    const broken = links(page).filter(({ to, heading }) => {
      if (!existsSync(join(root, to))) return true;
      const target = pages.find(({ path }) => path === to);
      return heading !== undefined && !(target && headings(target).includes(heading));
    });
    expect(broken).toEqual([]);
  });
});

describe('the errors page', () => {
  it('lists every error code and no others', () => {
    const source = readFileSync(join(root, 'lambda/core/errors.ts'), 'utf8');
    const codes = [...source.matchAll(/^ {2}\| '([A-Z_]+)'/gm)].map(([, code]) => code);
    const page = pages.find(({ path }) => path === join('docs', 'reference', 'errors.md'));
    const documented = [...(page?.text ?? '').matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, code]) => code);
    expect(codes.length).toBeGreaterThan(20);
    expect(documented.toSorted()).toEqual(codes.toSorted());
  });
});
