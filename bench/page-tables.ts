import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Section } from './markdown-table.ts';
import { print } from './table.ts';

/** The tables and sentences that a page does not contain verbatim; empty if the page is up to date. */
export const findMissing = (page: string, sections: readonly Section[]): readonly string[] =>
  sections
    .flatMap(({ table, sentence }) => [table, ...(sentence ? [sentence] : [])])
    .filter((text) => !page.includes(text));

/** The page with each table and sentence replacePart; a table is found by its header, a sentence by its beginning. */
export function replaceTables(page: string, sections: readonly Section[]): string {
  return sections.reduce(
    (text, { title, table, sentence }) =>
      [table, ...(sentence ? [sentence] : [])].reduce((whole, part) => replacePart(whole, part, title), text),
    page,
  );
}

function replacePart(page: string, part: string, title: string): string {
  const [first = ''] = part.split('\n');
  // A sentence is found by the text before its first figure.
  const beginning = part.includes('\n') ? `${first}\n` : first.replace(/\d.*/, '');
  const from = page.indexOf(`\n${beginning}`) + 1;
  if (from === 0)
    throw new Error(
      `Expected the page to contain text for "${title}" that begins with "${beginning.trim()}"; found none. Add it by hand first.`,
    );
  const to = page.indexOf('\n\n', from);
  return page.slice(0, from) + part + page.slice(to < 0 ? page.length : to);
}

/** Prints sections; with `--write`, also writes them into their page. */
export function printOrWrite(sections: readonly Section[], page: string): void {
  const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } });
  print(
    sections
      .map(({ title, table, sentence }) => [`## ${title}`, table, ...(sentence ? [sentence] : [])].join('\n\n'))
      .join('\n\n'),
  );
  if (!values.write) return;
  const file = new URL(`../docs/${page}`, import.meta.url);
  writeFileSync(file, replaceTables(readFileSync(file, 'utf8'), sections));
}
