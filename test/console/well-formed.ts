import { expect } from 'vitest';

/** The elements of the console's own markup; any other element comes from stored text. */
const TAGS =
  'html head meta title link script body a header div nav ul ol li main p h1 h2 h3 span svg path circle rect section form label input button select option datalist fieldset legend textarea details summary dl dt dd table caption thead tbody tr th td time bdi pre code figure figcaption img del ins strong i';
const ATTRIBUTES =
  /^(lang|charset|name|content|rel|type|href|src|defer|class|id|title|datetime|role|tabindex|hidden|open|selected|checked|required|value|placeholder|pattern|maxlength|min|max|step|inputmode|formnovalidate|method|action|for|list|start|scope|alt|loading|download|dir|spellcheck|autocapitalize|autocomplete|viewbox|d|cx|cy|r|x|width|height|preserveaspectratio|aria-[a-z]+|data-[a-z]+)$/;
const VOID = new Set(['meta', 'link', 'input', 'img']);
// Elements whose content is always text.
const RAW = new Set(['title', 'textarea', 'script']);

const TOKEN =
  /<!doctype html>|<\/([a-z][a-z0-9]*)>|<([a-z][a-z0-9]*)((?:\s+[^\s=>/"']+(?:="[^"]*")?)*)\s*(\/?)>|[^<]+|</gi;

/** An element of a page. */
export interface Element {
  readonly tag: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/**
 * Parses the elements of a page. Fails if it is not well-formed, has elements or attributes that the console does not use,
 * URLs that its policy forbids, duplicate ids, or references to missing ids.
 */
export function wellFormed(page: string): readonly Element[] {
  const elements: Element[] = [];
  const open: string[] = [];
  const known = new Set(TAGS.split(' '));
  TOKEN.lastIndex = 0;
  let at = 0;
  for (let token = TOKEN.exec(page); token; token = TOKEN.exec(page)) {
    check(token.index === at, () => `a gap before ${page.slice(at, at + 80)}`);
    at = TOKEN.lastIndex;
    const [text, closing, opening, given = '', selfClosing] = token;
    if (text === '<') throw new Error(`Not markup: ${page.slice(token.index, token.index + 120)}`);
    if (closing !== undefined) check(closing === open.pop(), () => `closed at ${page.slice(at - 80, at)}`);
    if (opening === undefined) continue;
    check(known.has(opening), () => `unknown element <${opening}>`);
    const attributes = attributesIn(given);
    elements.push({ tag: opening, attributes });
    if (RAW.has(opening)) {
      const end = page.indexOf(`</${opening}>`, at);
      check(end > -1, () => `no end of ${opening}`);
      check(!/<(?!\/textarea)/.test(page.slice(at, end)), () => `markup in ${page.slice(at, end)}`);
      TOKEN.lastIndex = at = end + opening.length + 3;
    } else if (!VOID.has(opening) && selfClosing === '') open.push(opening);
  }
  expect(open).toEqual([]);
  expect(at).toBe(page.length);
  checkReferences(elements);
  return elements;
}

function attributesIn(given: string): Readonly<Record<string, string>> {
  const attributes: Record<string, string> = {};
  for (const [, name = '', value = ''] of given.matchAll(/([^\s=]+)(?:="([^"]*)")?/g)) {
    check(ATTRIBUTES.test(name.toLowerCase()), () => `unknown attribute ${name}`);
    check(!Object.hasOwn(attributes, name), () => `${name} twice`);
    const url = name === 'src' || name === 'action' ? /^\/(?!\/)/ : /^(\/(?!\/)|#|\?|$|https?:\/\/)/;
    if (/^(href|src|action)$/.test(name)) check(url.test(value), () => `${name}="${value}"`);
    attributes[name] = value;
  }
  return attributes;
}

function checkReferences(elements: readonly Element[]): void {
  const ids = elements.flatMap(({ attributes: { id } }) => id ?? []);
  expect(ids).toEqual([...new Set(ids)]);
  for (const { attributes } of elements)
    for (const name of ['for', 'list', 'aria-labelledby', 'aria-describedby'])
      for (const id of attributes[name]?.split(' ') ?? [])
        check(ids.includes(id), () => `a missing element: ${name}="${id}"`);
}

// Pages have thousands of elements, and an `expect` for each of their parts would take longer than rendering them.
function check(holds: boolean, problem: () => string): void {
  if (!holds) throw new Error(`The page is not well-formed: ${problem()}`);
}

/** The same for a whole page, which must have one title, one main heading and landmarks. */
export function wholePage(page: string): readonly Element[] {
  const elements = wellFormed(page);
  const amount = (tag: string) => elements.filter((element) => element.tag === tag).length;
  expect(page.startsWith('<!doctype html>')).toBe(true);
  for (const tag of ['html', 'title', 'main', 'h1']) expect(amount(tag), tag).toBe(1);
  expect(elements.find(({ tag }) => tag === 'html')?.attributes.lang).toBe('en');
  for (const { tag, attributes } of elements.filter(({ tag: name }) => name === 'script'))
    expect(attributes.src, tag).toMatch(/^\/approvals\/assets\//);
  return elements;
}

/** The text of a page without its markup. */
export const textOf = (page: string): string => unescaped(page.replace(/<[^>]*>/g, ' ')).replace(/\s+/g, ' ');

/** Text with HTML entities decoded. */
export const unescaped = (escaped: string): string =>
  escaped.replace(/&(lt|gt|amp|quot|#39);/g, (_, name: string) => ENTITIES[name] ?? '');

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', '#39': "'" };
