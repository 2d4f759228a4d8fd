import { type Html, html } from '../markup.ts';
import { revealHidden, userText as stored } from '../text.ts';
import { collapsed, pluralize } from './show-options.ts';

const FOLD_CHARACTERS = 6000;

/** Renders text by its form: a line, a URL, paragraphs, code or a diff. Long text is collapsed, unless it is the whole document. */
export function showText(text: string, isWholeDocument = false): Html {
  if (text === '') return html`<span class="quiet">(empty text)</span>`;
  if (isWholeDocument || text.length <= FOLD_CHARACTERS * 1.2) return textBlock(text);
  const end = findBreak(text, FOLD_CHARACTERS);
  const rest = collapsed(pluralize(text.length - end, 'more character'), textBlock(text.slice(end)));
  return html`${textBlock(text.slice(0, end))}${rest}`;
}

/** Where to break text near the wanted position: after a line, and never inside a surrogate pair. */
function findBreak(text: string, wanted: number): number {
  const line = text.lastIndexOf('\n', wanted) + 1;
  if (line > wanted / 2) return line;
  return /[\uDC00-\uDFFF]/.test(text.charAt(wanted)) ? wanted - 1 : wanted;
}

function textBlock(text: string): Html {
  if (!text.includes('\n')) return isUrl(text) ? externalLink(text) : stored(text);
  if (isDiff(text)) return diffBlock(text);
  if (isCode(text)) return codeBlock(text);
  const parts = text.split(FENCED_CODE).filter((part) => part !== '');
  return html`${parts.map((part) =>
    part.startsWith('```') ? codeBlock(part) : html`<div class="text" dir="auto">${revealHidden(part)}</div>`,
  )}`;
}

const FENCED_CODE = /^(```[^\n]*\n[\s\S]*?^```[^\n]*(?:\n|$))/m;

/** Preformatted text. */
export const codeBlock = (code: string): Html =>
  html`<pre class="code" dir="ltr"><code>${revealHidden(code)}</code></pre>`;

function diffBlock(text: string): Html {
  const lines = text.split('\n').map((line) => html`<span class="${lineClass(line)}">${revealHidden(line)}\n</span>`);
  return html`<pre class="code diff" dir="ltr"><code>${lines}</code></pre>`;
}

function lineClass(line: string): string {
  if (/^(diff |index |--- |\+\+\+ )/.test(line)) return 'file';
  if (line.startsWith('@@')) return 'hunk';
  return line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'same';
}

/** Whether a text is a unified diff. */
export const isDiff = (text: string): boolean => /^@@ -\d+(,\d+)? \+\d+(,\d+)? @@/m.test(text) && /^[+-]/m.test(text);

const CODE_LINES = [
  /[;{}]\s*$/,
  /^\s*(import|export|const|let|var|function|class|def|return|if|for|while|from|SELECT|FROM|WHERE|func|fn|pub)\b.*[({;:=]/,
  /^\s*(\/\/|#!|#include|\/\*|\*\/)/,
  /^\s*<\/?[a-z][^>]*>/,
  /^\s*"[^"]*":\s/,
  /^( {4}|\t)\S/,
];

/** Whether most lines of a text look like code. */
export function isCode(text: string): boolean {
  const lines = text.split('\n', 200).filter((line) => line.trim() !== '');
  const code = lines.filter((line) => CODE_LINES.some((pattern) => pattern.test(line)));
  return lines.length > 1 && code.length > lines.length / 2;
}

/** Whether a text is a URL that is safe to link. Text before an @ could pass for the host, so such URLs are not linked. */
export const isUrl = (text: string): boolean =>
  text.length <= 2000 && /^https?:\/\/[^\s@\\]+$/i.test(text) && URL.canParse(text);

/** A link to another site, without a referrer. */
export const externalLink = (address: string): Html =>
  html`<a href="${address}" rel="noreferrer noopener external">${stored(address)}</a>`;
