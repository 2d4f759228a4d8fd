import type { Context } from 'hono';
import type { Doc } from '../checkpoints/engine.ts';
import { isGroup } from '../core/approval.ts';
import { findJsonError, formatJsonError } from '../core/json-error-position.ts';
import type { AppOptions } from '../http/app-options.ts';
import { parseJson, readBody } from '../http/body.ts';
import type { Role } from '../http/caller.ts';
import { MAX_BODY_BYTES } from '../http/limits.ts';
import { decodePathId } from '../http/path-id.ts';
import { HttpError, toProblem } from '../http/problem.ts';
import type { ApiEnv } from '../http/request-variables.ts';
import { requireRole } from '../http/roles.ts';
import type { Html } from './markup.ts';
import type { ProblemSummary } from './notice.ts';
import { plainText } from './text.ts';

/** What the console needs of the application. */
export type ConsoleOptions = Pick<AppOptions, 'agents' | 'runtime' | 'telemetry'>;

export type ConsoleContext = Context<ApiEnv>;

/** The id in a path under `/console/runs/`: that of the run is 0, that of something of it 2. */
export const idFromPath = ({ req }: ConsoleContext, place: 0 | 2 = 0): string =>
  decodePathId(new URL(req.url).pathname.split('/')[3 + place] ?? '');

/** Who calls, and the desk of their tenant; refuses a caller who has none of the roles. */
export function authorize(context: ConsoleContext, allowed: readonly Role[]): ApiEnv['Variables'] {
  const [caller, operator] = [context.get('caller'), context.get('operator')];
  requireRole(caller, allowed);
  return { caller, operator };
}

/** The fields of a form. */
export async function readForm({ req }: ConsoleContext): Promise<Readonly<Record<string, string>>> {
  const fields = Object(await readBody(req.raw, { maxBytes: MAX_BODY_BYTES, acceptsForms: true })) as Record<
    string,
    unknown
  >;
  return Object.fromEntries(
    Object.entries(fields).filter((field): field is [string, string] => typeof field[1] === 'string'),
  );
}

/**
 * What a page that is open looks back by when it asks what changed: lists may be behind, so that what was written before
 * the newest that is known is listed after it.
 */
export const OVERLAP_MS = 3000;

/** A whole number in a query, undefined when there is none. */
export function parseWholeNumber(given: string | undefined): number | undefined {
  return given !== undefined && /^\d{1,15}$/.test(given) ? Number(given) : undefined;
}

/** The tags in a field of a form, separated by commas; undefined when there are none. */
export function parseTags(given: string | undefined): readonly string[] | undefined {
  const tags = namesIn(given);
  return tags.length > 0 ? tags : undefined;
}

/** The groups in a field of a form, separated by commas. */
export const parseGroups = (given: string | undefined): readonly string[] =>
  namesIn(given).map(plainText).filter(isGroup);

const namesIn = (given: string | undefined): readonly string[] =>
  (given ?? '').split(',').flatMap((name) => name.trim() || []);

/** The document that a field of a form holds as JSON; refuses what is none, and says where. */
export function parseDocument(label: string, text: string): Doc {
  const mistake = findJsonError(text);
  if (mistake) throw new HttpError(400, 'INVALID_INPUT', `${label} is no JSON. ${formatJsonError(mistake)}.`);
  return parseJson(label, text) as Doc;
}

/** A page as an answer. */
export const htmlResponse = (context: ConsoleContext, page: Html, status = 200): Response | Promise<Response> =>
  context.html(String(page), status as 200);

/** Where to go after something was done: reloading that page does nothing again. */
export const redirectTo = (context: ConsoleContext, path: string): Response => context.redirect(path, 303);

/** Does what a form asks for; when that is refused, the page is shown once more with the reason. */
export async function submitForm(
  context: ConsoleContext,
  action: () => Promise<Response>,
  again: (problem: ProblemSummary) => Promise<Html>,
): Promise<Response> {
  try {
    return await action();
  } catch (error) {
    const problem = toProblem(error);
    // What went wrong inside, and what is not there, is told as everywhere.
    if (problem.status >= 500 || problem.status === 404 || problem.code === 'NOT_ALLOWED') throw error;
    return htmlResponse(context, await again(problem), problem.status);
  }
}
