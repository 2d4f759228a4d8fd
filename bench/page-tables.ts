import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Section } from './markdown-table.ts';
import { print } from './table.ts';

/** What of the sections a page does not say as it is; nothing when it is up to date. */
export const findMissing = (page: string, sections: readonly Section[]): readonly string[] =>
  sections
    .flatMap(({ table, sentence }) => [table, ...(sentence ? [sentence] : [])])
    .filter((text) => !page.includes(text));

/** The page with each table, and each sentence, in place of the one that begins as it does. */
export function replaceTables(page: string, sections: readonly Section[]): string {
  return sections.reduce(
    (text, { title, table, sentence }) =>
      [table, ...(sentence ? [sentence] : [])].reduce((whole, part) => replaced(whole, part, title), text),
    page,
  );
}

function replaced(page: string, part: string, title: string): string {
  const [first = ''] = part.split('\n');
  // Of a sentence, what is before its first figure.
  const beginning = part.includes('\n') ? `${first}\n` : first.replace(/\d.*/, '');
  const from = page.indexOf(`\n${beginning}`) + 1;
  if (from === 0)
    throw new Error(`The page has nothing of "${title}" that begins with "${beginning.trim()}". Put it there first.`);
  const to = page.indexOf('\n\n', from);
  return page.slice(0, from) + part + page.slice(to < 0 ? page.length : to);
}

/** Prints sections; with `--write`, puts them into their page as well. */
export function printOrWrite(sections: readonly Section[], page: string): void {
  const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } });
  print(
    sections
      .map(({ title, table, sentence }) => [`## ${title}`, table, ...(sentence ? [sentence] : [])].join('\n\n'))
      .join('\n\n'),
  );
  if (!values.write) return;
  const at = new URL(`../docs/${page}`, import.meta.url);
  writeFileSync(at, replaceTables(readFileSync(at, 'utf8'), sections));
}
