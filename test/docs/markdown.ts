import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));

/** A Markdown file of the project; its path is relative to the root. */
export interface Page {
  readonly path: string;
  readonly text: string;
}

export const pages: readonly Page[] = ['*.md', 'docs/**/*.md']
  .flatMap((pattern) => globSync(pattern, { cwd: root }))
  .sort()
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));

/** A fenced code block, and the number of its first line in the page. */
export interface CodeBlock {
  readonly language: string;
  readonly line: number;
  readonly code: string;
}

export function codeBlocks({ text }: Page): CodeBlock[] {
  return [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(({ index, 1: language = '', 2: code = '' }) => ({
    language,
    line: text.slice(0, index).split('\n').length + 1,
    code,
  }));
}

/** The links of a page to files of the project: the target path, relative to the root, and the heading. */
export function links(page: Page): { readonly to: string; readonly heading?: string }[] {
  const prose = withoutCode(page.text);
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [path = '', heading] = target.split('#');
      const to = path === '' ? page.path : join(dirname(page.path), path);
      return { to, ...(heading !== undefined && { heading }) };
    });
}

/** The anchors of the headings of a page, as GitHub generates them. */
export const headings = ({ text }: Page): string[] =>
  [...withoutCode(text).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

const withoutCode = (text: string): string =>
  text.replace(/^```.*?^```$/gms, '').replace(/`[^`\n]*`/g, (code) => code.slice(1, -1));
