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

/** The options of the application that the console uses. */
export type ConsoleOptions = Pick<AppOptions, 'agents' | 'startsAnyAgent' | 'runtime' | 'telemetry'>;

/** The Hono context of a console request. */
export type ConsoleContext = Context<ApiEnv>;

/** The id in a path below `/console/runs/`: of the run at offset 0, of its checkpoint or approval at offset 2. */
export const idFromPath = ({ req }: ConsoleContext, offset: 0 | 2 = 0): string =>
  decodePathId(new URL(req.url).pathname.split('/')[3 + offset] ?? '');

/** The caller and the operator of their tenant; throws `NOT_ALLOWED` without one of the roles. */
export function authorize(context: ConsoleContext, allowed: readonly Role[]): ApiEnv['Variables'] {
  const caller = context.get('caller');
  const operator = context.get('operator');
  requireRole(caller, allowed);
  return { caller, operator };
}

/** Reads the text fields of a form. */
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
 * How far an open page looks back when it polls a list. Lists are eventually consistent: a run that changed before the
 * newest known one can appear after it.
 */
export const OVERLAP_MS = 3000;

/** A whole number; undefined for anything else. */
export function parseWholeNumber(given: string | undefined): number | undefined {
  return given !== undefined && /^\d{1,15}$/.test(given) ? Number(given) : undefined;
}

/** Comma-separated tags; undefined without any. */
export function parseTags(given: string | undefined): readonly string[] | undefined {
  const tags = splitNames(given);
  return tags.length > 0 ? tags : undefined;
}

/** Comma-separated groups. */
export const parseGroups = (given: string | undefined): readonly string[] =>
  splitNames(given).map(plainText).filter(isGroup);

const splitNames = (given: string | undefined): readonly string[] =>
  (given ?? '').split(',').flatMap((name) => name.trim() || []);

/** Parses the JSON of a form field; throws `INVALID_INPUT` with the position of the error. */
export function parseDocument(label: string, text: string): Doc {
  const mistake = findJsonError(text);
  if (mistake) throw new HttpError(400, 'INVALID_INPUT', `${label} must be JSON. ${formatJsonError(mistake)}.`);
  return parseJson(label, text) as Doc;
}

/** Responds with a page. */
export const htmlResponse = (context: ConsoleContext, page: Html, status = 200): Response | Promise<Response> =>
  context.html(String(page), status as 200);

/** Redirects after a POST, so that reloading the page does not repeat it. */
export const redirectTo = (context: ConsoleContext, path: string): Response => context.redirect(path, 303);

/** Runs the action of a form; if the input is rejected, renders the form again with the problem. */
export async function submitForm(
  context: ConsoleContext,
  action: () => Promise<Response>,
  again: (problem: ProblemSummary) => Promise<Html>,
): Promise<Response> {
  try {
    return await action();
  } catch (error) {
    const problem = toProblem(error);
    // Internal errors, missing records and missing permissions get the common error page.
    if (problem.status >= 500 || problem.status === 404 || problem.code === 'NOT_ALLOWED') throw error;
    return htmlResponse(context, await again(problem), problem.status);
  }
}
