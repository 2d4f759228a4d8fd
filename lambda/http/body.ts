import { WaitstateError } from '../core/errors.ts';
import { invalidInput } from '../core/invalid-input.ts';
import { findJsonError, formatJsonError } from '../core/json-error-position.ts';
import { HttpError } from './problem.ts';
import { withTimeout } from './with-timeout.ts';

/** What a body may be. */
export interface BodyOptions {
  readonly maxBytes: number;
  /** Whether forms are read too. @default false: only JSON */
  readonly acceptsForms?: boolean;
}

/** How deep JSON may nest. */
const MOST_LEVELS = 100;
const SECONDS = 10;

/** The value of a body of JSON, or the fields of a form. No body is an empty object. */
export async function readBody(
  request: Request,
  { maxBytes: mostBytes, acceptsForms: forms = false }: BodyOptions,
): Promise<unknown> {
  const text = await readText(request, mostBytes);
  const type = typeOf(request);
  if (text === '') return {};
  if (forms && isForm(request)) return formFields(text);
  if (type !== 'application/json') {
    const expected = forms ? 'application/json or application/x-www-form-urlencoded' : 'application/json';
    throw new HttpError(415, 'UNSUPPORTED_TYPE', `The content-type must be ${expected}; found ${cut(type || 'none')}.`);
  }
  return parseJson('The body', text);
}

/** Whether a request is what a form of a browser sends. */
export const isForm = (request: Request): boolean => typeOf(request) === 'application/x-www-form-urlencoded';

const typeOf = (request: Request): string =>
  (request.headers.get('content-type') ?? '').replace(/;.*/s, '').trim().toLowerCase();

/** Parses JSON that somebody sent; refuses what nests too deep before anything recurses into it. */
export function parseJson(what: string, text: string): unknown {
  if (levelsOf(text) > MOST_LEVELS) throw invalidInput(what, `nested at most ${MOST_LEVELS} levels deep`, 'more');
  try {
    return JSON.parse(text);
  } catch (cause) {
    const mistake = findJsonError(text);
    const where = mistake ? formatJsonError(mistake) : 'It is none';
    throw new WaitstateError('INVALID_INPUT', `${what} must be JSON. ${where}.`, { cause });
  }
}

/** The fields of a form, each at most once. One that nobody filled in is absent. */
function formFields(text: string): Readonly<Record<string, string>> {
  const fields = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (fields.has(name)) throw invalidInput('A form', 'of fields that occur once', name);
    fields.set(name, value);
  }
  return Object.fromEntries([...fields].filter(([, value]) => value !== ''));
}

async function readText(request: Request, mostBytes: number): Promise<string> {
  const tooLarge = new HttpError(413, 'TOO_LARGE', `A body has at most ${mostBytes} bytes here. Send less.`);
  if (Number(request.headers.get('content-length') ?? 0) > mostBytes) throw tooLarge;
  if (!request.body) return '';
  const reader = request.body.getReader();
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  const readAll = async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      bytes += value.length;
      if (bytes > mostBytes) throw tooLarge;
      pieces.push(value);
    }
  };
  try {
    await withTimeout(SECONDS, readAll(), bodyTimedOut);
  } catch (error) {
    // Whoever sends it need not send the rest.
    reader.cancel().catch(() => undefined);
    // What else goes wrong is theirs too: they left, or it ends otherwise than it says.
    throw error instanceof HttpError ? error : invalidInput('The body', 'there as a whole', `${bytes} bytes of it`);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(pieces));
  } catch {
    throw invalidInput('The body', 'text in UTF-8', `${bytes} bytes of something else`);
  }
}

const bodyTimedOut = (): HttpError =>
  new HttpError(408, 'BODY_TIMED_OUT', `The body must be here within ${SECONDS} seconds.`);

/** How deep the brackets of JSON text nest, outside of its strings. */
function levelsOf(text: string): number {
  let [levels, most] = [0, 0];
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === QUOTE) i = endOfString(text, i);
    else if (c === OPEN_LIST || c === OPEN_OBJECT) most = Math.max(most, ++levels);
    else if (c === CLOSE_LIST || c === CLOSE_OBJECT) levels -= 1;
  }
  return most;
}

const [QUOTE, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x22, 0x5b, 0x5d, 0x7b, 0x7d];

function endOfString(text: string, start: number): number {
  let end = start + 1;
  while (end < text.length && text.charCodeAt(end) !== QUOTE) end += text.charCodeAt(end) === 0x5c ? 2 : 1;
  return end;
}

const cut = (text: string): string => JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
