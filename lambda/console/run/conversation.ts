import { type Doc, isFields, isList, type List, specialOf } from '../../checkpoints/engine.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import { appendPointer, truncateToBytes } from '../../operator/truncated-document.ts';
import { showDocument } from '../document/show-document.ts';
import { collapsed, pluralize, ROOT_POSITION, type ShowOptions } from '../document/show-options.ts';
import { showText } from '../document/show-text.ts';
import { type Html, type HtmlValue, html } from '../markup.ts';
import { userText } from '../text.ts';

/** Messages in a state, and where they are. */
export interface Messages {
  readonly pointer: string;
  readonly list: List;
}

/** The list of messages that a state is, or has among its fields; undefined when there is none. */
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

const SHOWN = 30;
// A picture in a message may be as large as a page may be.
const MOST_BYTES = 8 * 1024;

/** Messages as a conversation, the last ones in sight. */
export function conversation({ list }: Messages, { payloadUrl }: ShowOptions): Html {
  const showing: ShowOptions = omitUndefined({ payloadUrl });
  const earlier = Math.max(0, list.length - SHOWN);
  const messages = (some: List) => html`<ol class="conversation">${some.map((doc) => message(doc, showing))}</ol>`;
  // What is much longer than anybody reads stays in the state below.
  const before = list.slice(Math.max(0, earlier - 200), earlier);
  return html`${earlier > 200 && html`<p class="quiet">The first ${pluralize(earlier - 200, 'message')} are in the state.</p>`}
${before.length > 0 && collapsed(`${pluralize(before.length, 'message')} before`, messages(before))}
${messages(list.slice(earlier))}`;
}

const SIDES = new Map(Object.entries({ user: 'user', human: 'user', system: 'system', tool: 'tool' }));

function message(whole: Doc, showing: ShowOptions): Html {
  const doc = truncateToBytes(whole, MOST_BYTES).value;
  if (specialOf(doc) !== undefined)
    return html`<li class="other"><div class="doc">${showDocument(doc, showing)}</div></li>`;
  const { role, name, text: said, content, ...others } = isFields(doc) ? doc : {};
  const speaker = typeof name === 'string' ? `${role}, ${name}` : String(role);
  return html`<li class="${SIDES.get(String(role).toLowerCase()) ?? 'other'}"><p class="speaker">${userText(speaker)}</p>
${said !== undefined && part(said, showing)}${content !== undefined && part(content, showing)}
${Object.keys(others).length > 0 && collapsed('More of this message', html`<div class="doc">${showDocument(others, showing)}</div>`)}</li>`;
}

/** What was said: text, or a list of blocks as models take them. */
function part(doc: Doc, showing: ShowOptions): HtmlValue {
  if (typeof doc === 'string') return html`<div>${showText(doc)}</div>`;
  if (isList(doc)) return doc.map((block) => part(block, showing));
  if (!isFields(doc) || specialOf(doc) !== undefined)
    return html`<div class="doc">${showDocument(doc, showing, ROOT_POSITION)}</div>`;
  const { type, text: said, ...others } = doc;
  const isText = typeof said === 'string' && Object.keys(others).length === 0;
  if (isText && (type === undefined || type === 'text')) return html`<div>${showText(said)}</div>`;
  return html`<div class="doc">${collapsed(blockName(doc), showDocument(doc, showing))}</div>`;
}

/** A call of a tool, its result, a picture: in a few words. */
function blockName(doc: Readonly<Record<string, Doc>>): Html {
  const kind = typeof doc.type === 'string' ? doc.type : (Object.keys(doc)[0] ?? 'block');
  const inner = isFields(doc[kind]) ? doc[kind] : doc;
  const name = typeof inner.name === 'string' ? inner.name : undefined;
  return html`<code>${userText(name === undefined ? kind : `${kind}: ${name}`)}</code>`;
}
