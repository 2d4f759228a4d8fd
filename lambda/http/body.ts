import { WaitstateError } from '../core/errors.ts';
import { invalidInput } from '../core/invalid-input.ts';
import { findJsonError, formatJsonError } from '../core/json-error-position.ts';
import { HttpError } from './problem.ts';
import { withTimeout } from './with-timeout.ts';

/** Limits and media types of a request body. */
export interface BodyOptions {
  readonly maxBytes: number;
  /** Whether form bodies are accepted too. @default false: only JSON */
  readonly acceptsForms?: boolean;
}

const MAX_JSON_DEPTH = 100;
const BODY_TIMEOUT_SECONDS = 10;

/** Parses a JSON body, or the fields of a form. An empty body is an empty object. */
export async function readBody(request: Request, { maxBytes, acceptsForms = false }: BodyOptions): Promise<unknown> {
  const text = await readText(request, maxBytes);
  const type = mediaTypeOf(request);
  if (text === '') return {};
  if (acceptsForms && isForm(request)) return parseForm(text);
  if (type !== 'application/json') {
    const expected = acceptsForms ? 'application/json or application/x-www-form-urlencoded' : 'application/json';
    throw new HttpError(
      415,
      'UNSUPPORTED_TYPE',
      `The content-type must be ${expected}; found ${quoteExcerpt(type || 'none')}.`,
    );
  }
  return parseJson('The body', text);
}

/** Whether a request has the media type of an HTML form. */
export const isForm = (request: Request): boolean => mediaTypeOf(request) === 'application/x-www-form-urlencoded';

const mediaTypeOf = (request: Request): string =>
  (request.headers.get('content-type') ?? '').replace(/;.*/s, '').trim().toLowerCase();

/** Parses JSON from outside; rejects too deep nesting before anything recurses into it. */
export function parseJson(what: string, text: string): unknown {
  if (nestingDepth(text) > MAX_JSON_DEPTH)
    throw invalidInput(what, `nested at most ${MAX_JSON_DEPTH} levels deep`, 'more');
  try {
    return JSON.parse(text);
  } catch (cause) {
    const mistake = findJsonError(text);
    const where = mistake ? formatJsonError(mistake) : 'It cannot be parsed';
    throw new WaitstateError('INVALID_INPUT', `${what} must be JSON. ${where}.`, { cause });
  }
}

/** The fields of a form, each at most once. Empty fields are left out. */
function parseForm(text: string): Readonly<Record<string, string>> {
  const fields = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (fields.has(name)) throw invalidInput('A form', 'sent with each field at most once', name);
    fields.set(name, value);
  }
  return Object.fromEntries([...fields].filter(([, value]) => value !== ''));
}

async function readText(request: Request, maxBytes: number): Promise<string> {
  const tooLarge = new HttpError(413, 'TOO_LARGE', `The body must have at most ${maxBytes} bytes. Send less.`);
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge;
  if (!request.body) return '';
  const reader = request.body.getReader();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const readAll = async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      bytes += value.length;
      if (bytes > maxBytes) throw tooLarge;
      chunks.push(value);
    }
  };
  try {
    await withTimeout(BODY_TIMEOUT_SECONDS, readAll(), bodyTimedOut);
  } catch (error) {
    // The client need not send the rest.
    reader.cancel().catch(() => undefined);
    // Any other failure is the client's too: it disconnected, or the body does not match its content-length.
    throw error instanceof HttpError ? error : invalidInput('The body', 'sent completely', `only ${bytes} bytes`);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw invalidInput('The body', 'text in UTF-8', `${bytes} bytes in another encoding`);
  }
}

const bodyTimedOut = (): HttpError =>
  new HttpError(408, 'BODY_TIMED_OUT', `The body must arrive within ${BODY_TIMEOUT_SECONDS} seconds. Send it again.`);

/** How deep the brackets of JSON text nest, outside its strings. */
function nestingDepth(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === QUOTE) i = endOfString(text, i);
    else if (c === OPEN_LIST || c === OPEN_OBJECT) deepest = Math.max(deepest, ++depth);
    else if (c === CLOSE_LIST || c === CLOSE_OBJECT) depth -= 1;
  }
  return deepest;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

function endOfString(text: string, start: number): number {
  let end = start + 1;
  while (end < text.length && text.charCodeAt(end) !== QUOTE) end += text.charCodeAt(end) === BACKSLASH ? 2 : 1;
  return end;
}

const quoteExcerpt = (text: string): string => JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
