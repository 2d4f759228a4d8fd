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

/** Where a `$` node is, and how what it holds is shown. */
interface Node {
  readonly showing: ShowOptions;
  readonly place: DocumentPosition;
  readonly show: (doc: Doc, showing: ShowOptions, place: DocumentPosition) => Html;
  readonly showFields: (fields: Fields, showing: ShowOptions, place: DocumentPosition) => Html;
}

/** A `$` node as what it stands for; one of a kind that nobody knows as it is written. */
export function showSpecial(doc: Doc, special: Doc, node: Node): Html {
  if (typeof special === 'string') return value(special === 'hole' ? '(nothing)' : special);
  const shown = isList(special) ? known(special, node) : undefined;
  return shown ?? codeBlock(JSON.stringify(doc));
}

function known(parts: List, node: Node): Html | undefined {
  const [tag, first = null, second = null] = parts;
  const { showing, place, show, showFields } = node;
  const inside = (part: number): DocumentPosition => ({ ...childPosition(place, '$', part), from: place.from });
  if (verbatimPart(tag) === 1) return isFields(first) ? showFields(first, showing, inside(1)) : undefined;
  switch (tag) {
    case 'date':
      return isMoment(first) ? exactTime(new Date(first)) : value('Invalid Date');
    case 'bigint':
      return value(words(first));
    case 'regexp':
      return html`<code>${userText(`/${words(first)}/${words(second)}`)}</code>`;
    case 'url':
      return isUrl(words(first)) ? externalLink(words(first)) : userText(words(first));
    case 'bytes':
      return showBytes(words(first), words(second));
    case 'map':
      return isList(first) ? showMap(first, node) : undefined;
    case 'set':
      return html`${kind('Set')}${show(first, showing, inside(1))}`;
    case 'error':
      return showError(parts, node);
    case 'class':
      return html`${kind(words(first))}${show(second, showing, inside(2))}`;
    case 'payload':
      return isPayload(parts) ? showPayload(readPayloadRef(parts), showing) : undefined;
    case 'shared':
      return html`${kind(`object ${words(first)}`)}${show(second, showing, inside(2))}`;
    case 'again':
      return html`<span class="quiet">(object ${userText(words(first))} again)</span>`;
    default:
      return undefined;
  }
}

/** A part of a node as text, whatever it is. */
const words = (doc: Doc): string => (typeof doc === 'string' ? doc : JSON.stringify(doc));

const isMoment = (doc: Doc): doc is number => typeof doc === 'number' && Math.abs(doc) <= 8.64e15;

const value = (written: string): Html => html`<span class="value">${userText(written)}</span>`;

const kind = (name: string): Html => html`<span class="kind">${userText(name)}</span> `;

const SOME_BYTES = 48;

function showBytes(type: string, base64: string): Html {
  const bytes = Buffer.from(base64, 'base64');
  const hex = bytes.subarray(0, SOME_BYTES).toString('hex').replace(/../g, '$& ').trim();
  return html`${kind(type)}<span class="quiet">${pluralize(bytes.length, 'byte')}</span> <code class="bytes">${hex}${bytes.length > SOME_BYTES && ' …'}</code>`;
}

function showMap(pairs: List, { showing, place, show }: Node): Html {
  if (pairs.length === 0) return html`${kind('Map')}<span class="quiet">(empty)</span>`;
  const rows = pairs.map((pair, i) => {
    const [key = null, held = null] = isList(pair) ? pair : [pair];
    const inside = childPosition(place, '$', 1, i);
    return html`<div><dt>${show(key, showing, childPosition(inside, 0))}</dt><dd>${show(held, showing, childPosition(inside, 1))}</dd></div>`;
  });
  return html`${kind('Map')}<dl class="fields">${rows}</dl>`;
}

function showError([, name = null, message = null, fields = null]: List, { showing, place, showFields }: Node): Html {
  const { stack, ...others }: Fields = isFields(fields) ? fields : {};
  return html`<div class="error-value"><strong>${userText(words(name))}</strong>: ${userText(words(message))}</div>
${typeof stack === 'string' && collapsed('Where it came up', codeBlock(stack))}
${Object.keys(others).length > 0 && showFields(others, showing, childPosition(place, '$', 3))}`;
}

const isPayload = ([, id, sha256, size]: List): boolean =>
  typeof id === 'string' && typeof sha256 === 'string' && typeof size === 'number';

function showPayload({ id, size, type, digest }: PayloadRef, { payloadUrl }: ShowOptions): Html {
  const url = payloadUrl?.(id);
  const about = html`${userText(type ?? 'bytes')}, ${formatBytes(size)}${digest !== undefined && html`: ${userText(digest)}`}`;
  if (url === undefined) return html`<span class="payload">${about}</span>`;
  if (type === undefined || !SAFE_IMAGE_EXTENSIONS.has(type.toLowerCase()))
    return html`<span class="payload"><a href="${url}" download>Download</a> ${about}</span>`;
  const alt = digest === undefined ? `Picture, ${formatBytes(size)}` : plainText(digest);
  return html`<figure class="picture"><a href="${url}"><img src="${url}" alt="${alt}" loading="lazy"></a><figcaption>${about}</figcaption></figure>`;
}
