import {
  type Doc,
  type Fields,
  isFields,
  isList,
  type List,
  type PayloadRef,
  readPayloadRef,
  verbatimPart,
} from '../../checkpoints/engine.ts';
import { SAFE_IMAGE_EXTENSIONS } from '../../http/safe-images.ts';
import { type Html, html } from '../markup.ts';
import { plainText, userText } from '../text.ts';
import { exactTime } from '../time.ts';
import { formatBytes } from './format-bytes.ts';
import { childPosition, collapsed, type DocumentPosition, pluralize, type ShowOptions } from './show-options.ts';
import { codeBlock, externalLink, isUrl } from './show-text.ts';

/** The position of a `$` node, and how to render what it contains. */
interface NodeContext {
  readonly options: ShowOptions;
  readonly position: DocumentPosition;
  readonly show: (doc: Doc, options: ShowOptions, position: DocumentPosition) => Html;
  readonly showFields: (fields: Fields, options: ShowOptions, position: DocumentPosition) => Html;
}

/** Renders a `$` node as the value that it stands for, or as written if its kind is unknown. */
export function showSpecial(doc: Doc, special: Doc, node: NodeContext): Html {
  if (typeof special === 'string') return showValue(special === 'hole' ? '(empty slot)' : special);
  const shown = isList(special) ? showKnown(special, node) : undefined;
  return shown ?? codeBlock(JSON.stringify(doc));
}

function showKnown(parts: List, node: NodeContext): Html | undefined {
  const [tag, first = null, second = null] = parts;
  const { options, position, show, showFields } = node;
  const inside = (part: number): DocumentPosition => ({ ...childPosition(position, '$', part), from: position.from });
  if (verbatimPart(tag) === 1) return isFields(first) ? showFields(first, options, inside(1)) : undefined;
  switch (tag) {
    case 'date':
      return isTimestamp(first) ? exactTime(new Date(first)) : showValue('Invalid Date');
    case 'bigint':
      return showValue(toText(first));
    case 'regexp':
      return html`<code>${userText(`/${toText(first)}/${toText(second)}`)}</code>`;
    case 'url':
      return isUrl(toText(first)) ? externalLink(toText(first)) : userText(toText(first));
    case 'bytes':
      return showBytes(toText(first), toText(second));
    case 'map':
      return isList(first) ? showMap(first, node) : undefined;
    case 'set':
      return html`${kindLabel('Set')}${show(first, options, inside(1))}`;
    case 'error':
      return showError(parts, node);
    case 'class':
      return html`${kindLabel(toText(first))}${show(second, options, inside(2))}`;
    case 'payload':
      return isPayload(parts) ? showPayload(readPayloadRef(parts), options) : undefined;
    case 'shared':
      return html`${kindLabel(`object ${toText(first)}`)}${show(second, options, inside(2))}`;
    case 'ref':
      return html`<span class="quiet">(object ${userText(toText(first))} again)</span>`;
    default:
      return undefined;
  }
}

/** A part of a node as text. */
const toText = (doc: Doc): string => (typeof doc === 'string' ? doc : JSON.stringify(doc));

const isTimestamp = (doc: Doc): doc is number => typeof doc === 'number' && Math.abs(doc) <= 8.64e15;

const showValue = (written: string): Html => html`<span class="value">${userText(written)}</span>`;

const kindLabel = (name: string): Html => html`<span class="kind">${userText(name)}</span> `;

const PREVIEW_BYTES = 48;

function showBytes(type: string, base64: string): Html {
  const bytes = Buffer.from(base64, 'base64');
  const hex = bytes.subarray(0, PREVIEW_BYTES).toString('hex').replace(/../g, '$& ').trim();
  return html`${kindLabel(type)}<span class="quiet">${pluralize(bytes.length, 'byte')}</span> <code class="bytes">${hex}${bytes.length > PREVIEW_BYTES && ' …'}</code>`;
}

function showMap(pairs: List, { options, position, show }: NodeContext): Html {
  if (pairs.length === 0) return html`${kindLabel('Map')}<span class="quiet">(empty)</span>`;
  const rows = pairs.map((pair, i) => {
    const [key = null, held = null] = isList(pair) ? pair : [pair];
    const inside = childPosition(position, '$', 1, i);
    return html`<div><dt>${show(key, options, childPosition(inside, 0))}</dt><dd>${show(held, options, childPosition(inside, 1))}</dd></div>`;
  });
  return html`${kindLabel('Map')}<dl class="fields">${rows}</dl>`;
}

function showError(
  [, name = null, message = null, fields = null]: List,
  { options, position, showFields }: NodeContext,
): Html {
  const { stack, ...others }: Fields = isFields(fields) ? fields : {};
  return html`<div class="error-value"><strong>${userText(toText(name))}</strong>: ${userText(toText(message))}</div>
${typeof stack === 'string' && collapsed('Stack trace', codeBlock(stack))}
${Object.keys(others).length > 0 && showFields(others, options, childPosition(position, '$', 3))}`;
}

const isPayload = ([, id, sha256, size]: List): boolean =>
  typeof id === 'string' && typeof sha256 === 'string' && typeof size === 'number';

function showPayload({ id, size, type, digest }: PayloadRef, { payloadUrl }: ShowOptions): Html {
  const url = payloadUrl?.(id);
  const about = html`${userText(type ?? 'bytes')}, ${formatBytes(size)}${digest !== undefined && html`: ${userText(digest)}`}`;
  if (url === undefined) return html`<span class="payload">${about}</span>`;
  if (type === undefined || !SAFE_IMAGE_EXTENSIONS.has(type.toLowerCase()))
    return html`<span class="payload"><a href="${url}" download>Download</a> ${about}</span>`;
  const alt = digest === undefined ? `Image, ${formatBytes(size)}` : plainText(digest);
  return html`<figure class="picture"><a href="${url}"><img src="${url}" alt="${alt}" loading="lazy"></a><figcaption>${about}</figcaption></figure>`;
}
