import { type Html, html } from '../markup.ts';
import { revealHidden, userText as stored } from '../text.ts';
import { collapsed, pluralize } from './show-options.ts';

const LONG = 6000;

/** Text as what it seems to be: a word, an address, paragraphs, code, or a difference. What is long is folded, unless it is all. */
export function showText(text: string, isAll = false): Html {
  if (text === '') return html`<span class="quiet">(empty text)</span>`;
  if (isAll || text.length <= LONG * 1.2) return textBlock(text);
  const end = endOf(text, LONG);
  const rest = collapsed(`${pluralize(text.length - end, 'character')} more`, textBlock(text.slice(end)));
  return html`${textBlock(text.slice(0, end))}${rest}`;
}

/** A place to cut a text near the one that is wanted: behind a line, and never inside a character. */
function endOf(text: string, wanted: number): number {
  const line = text.lastIndexOf('\n', wanted) + 1;
  if (line > wanted / 2) return line;
  return /[\uDC00-\uDFFF]/.test(text.charAt(wanted)) ? wanted - 1 : wanted;
}

function textBlock(text: string): Html {
  if (!text.includes('\n')) return isUrl(text) ? externalLink(text) : stored(text);
  if (isDiff(text)) return differenceBlock(text);
  if (isCode(text)) return codeBlock(text);
  const parts = text.split(FENCED).filter((part) => part !== '');
  return html`${parts.map((part) =>
    part.startsWith('```') ? codeBlock(part) : html`<div class="text" dir="auto">${revealHidden(part)}</div>`,
  )}`;
}

const FENCED = /^(```[^\n]*\n[\s\S]*?^```[^\n]*(?:\n|$))/m;

/** Text in which every character has its place. */
export const codeBlock = (code: string): Html =>
  html`<pre class="code" dir="ltr"><code>${revealHidden(code)}</code></pre>`;

function differenceBlock(text: string): Html {
  const lines = text.split('\n').map((line) => html`<span class="${lineClass(line)}">${revealHidden(line)}\n</span>`);
  return html`<pre class="code diff" dir="ltr"><code>${lines}</code></pre>`;
}

function lineClass(line: string): string {
  if (/^(diff |index |--- |\+\+\+ )/.test(line)) return 'file';
  if (line.startsWith('@@')) return 'hunk';
  return line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'same';
}

/** Whether a text is a difference as `diff -u` or git write it. */
export const isDiff = (text: string): boolean => /^@@ -\d+(,\d+)? \+\d+(,\d+)? @@/m.test(text) && /^[+-]/m.test(text);

const CODE_LINES = [
  /[;{}]\s*$/,
  /^\s*(import|export|const|let|var|function|class|def|return|if|for|while|from|SELECT|FROM|WHERE|func|fn|pub)\b.*[({;:=]/,
  /^\s*(\/\/|#!|#include|\/\*|\*\/)/,
  /^\s*<\/?[a-z][^>]*>/,
  /^\s*"[^"]*":\s/,
  /^( {4}|\t)\S/,
];

/** Whether most lines of a text look as if they were written for a machine. */
export function isCode(text: string): boolean {
  const lines = text.split('\n', 200).filter((line) => line.trim() !== '');
  const code = lines.filter((line) => CODE_LINES.some((pattern) => pattern.test(line)));
  return lines.length > 1 && code.length > lines.length / 2;
}

/** Whether a text is an address that leads where it says; what stands before an @ only looks like a host. */
export const isUrl = (text: string): boolean =>
  text.length <= 2000 && /^https?:\/\/[^\s@\\]+$/i.test(text) && URL.canParse(text);

/** An address that can be followed; nobody there learns from which page. */
export const externalLink = (address: string): Html =>
  html`<a href="${address}" rel="noreferrer noopener external">${stored(address)}</a>`;
