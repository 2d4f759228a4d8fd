import { type Doc, isFields, isList, type List, specialOf } from '../../checkpoints/engine.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import { appendPointer, truncateToBytes } from '../../operator/truncated-document.ts';
import { showDocument } from '../document/show-document.ts';
import { collapsed, pluralize, ROOT_POSITION, type ShowOptions } from '../document/show-options.ts';
import { showText } from '../document/show-text.ts';
import { type Html, type HtmlValue, html } from '../markup.ts';
import { userText } from '../text.ts';

/** The messages in a state, and their position. */
export interface Messages {
  readonly pointer: string;
  readonly list: List;
}

/** Finds messages: the state itself, or the first of its fields that is a list of messages. */
export function findMessages(state: Doc): Messages | undefined {
  if (isList(state)) return areMessages(state) ? { pointer: '', list: state } : undefined;
  if (!isFields(state) || specialOf(state) !== undefined) return undefined;
  for (const [key, list] of Object.entries(state))
    if (isList(list) && areMessages(list)) return { pointer: appendPointer('', key), list };
  return undefined;
}

const areMessages = (list: List): boolean => list.length > 0 && list.every(isMessage);

const isMessage = (doc: Doc): boolean =>
  isFields(doc) && typeof doc.role === 'string' && (doc.text !== undefined || doc.content !== undefined);

const VISIBLE_MESSAGES = 30;
// A message can contain an image that is too large for the page.
const MAX_BYTES = 8 * 1024;

/** Renders messages as a conversation; earlier ones are collapsed. */
export function conversation({ list }: Messages, { payloadUrl }: ShowOptions): Html {
  const options: ShowOptions = omitUndefined({ payloadUrl });
  const earlier = Math.max(0, list.length - VISIBLE_MESSAGES);
  const messages = (some: List) => html`<ol class="conversation">${some.map((doc) => message(doc, options))}</ol>`;
  // Very old messages are only in the full state.
  const before = list.slice(Math.max(0, earlier - 200), earlier);
  return html`${earlier > 200 && html`<p class="quiet">The first ${pluralize(earlier - 200, 'message')} are only in the full state.</p>`}
${before.length > 0 && collapsed(pluralize(before.length, 'earlier message'), messages(before))}
${messages(list.slice(earlier))}`;
}

const CLASS_BY_ROLE = new Map(Object.entries({ user: 'user', human: 'user', system: 'system', tool: 'tool' }));

function message(whole: Doc, options: ShowOptions): Html {
  const doc = truncateToBytes(whole, MAX_BYTES).value;
  if (specialOf(doc) !== undefined)
    return html`<li class="other"><div class="doc">${showDocument(doc, options)}</div></li>`;
  const { role, name, text, content, ...others } = isFields(doc) ? doc : {};
  const speaker = typeof name === 'string' ? `${role}, ${name}` : String(role);
  return html`<li class="${CLASS_BY_ROLE.get(String(role).toLowerCase()) ?? 'other'}"><p class="speaker">${userText(speaker)}</p>
${text !== undefined && part(text, options)}${content !== undefined && part(content, options)}
${Object.keys(others).length > 0 && collapsed('Other fields', html`<div class="doc">${showDocument(others, options)}</div>`)}</li>`;
}

/** The content of a message: text, or a list of blocks. */
function part(doc: Doc, options: ShowOptions): HtmlValue {
  if (typeof doc === 'string') return html`<div>${showText(doc)}</div>`;
  if (isList(doc)) return doc.map((block) => part(block, options));
  if (!isFields(doc) || specialOf(doc) !== undefined)
    return html`<div class="doc">${showDocument(doc, options, ROOT_POSITION)}</div>`;
  const { type, text, ...others } = doc;
  const isText = typeof text === 'string' && Object.keys(others).length === 0;
  if (isText && (type === undefined || type === 'text')) return html`<div>${showText(text)}</div>`;
  return html`<div class="doc">${collapsed(blockName(doc), showDocument(doc, options))}</div>`;
}

/** A short name for a block, such as a tool call or its result. */
function blockName(doc: Readonly<Record<string, Doc>>): Html {
  const kind = typeof doc.type === 'string' ? doc.type : (Object.keys(doc)[0] ?? 'block');
  const inner = isFields(doc[kind]) ? doc[kind] : doc;
  const name = typeof inner.name === 'string' ? inner.name : undefined;
  return html`<code>${userText(name === undefined ? kind : `${kind}: ${name}`)}</code>`;
}
