import { isDeepStrictEqual } from 'node:util';
import type * as z from 'zod';
import type { Cloud } from '../cloud.ts';
import type { Api, ApiResponse } from './api.ts';

/** The deployment that checks use. */
export interface Scene {
  readonly api: Api;
  readonly cloud: Pick<Cloud, 'invoke' | 'deadLetters' | 'doctor'>;
  readonly stack: string;
  /** Aborts when the user stops the test. */
  readonly signal: AbortSignal;
  pause(milliseconds: number): Promise<void>;
}

/** A check of the deployment; `run` rejects if it fails. */
export interface Check {
  readonly name: string;
  run(scene: Scene): Promise<void>;
}

/** A check found something that is not as expected. */
export class CheckFailed extends Error {
  override readonly name = 'CheckFailed';
}

/** Throws unless the response has one of these statuses. */
export function expectStatus(response: ApiResponse, ...statuses: readonly number[]): void {
  const { request, status, body } = response;
  if (!statuses.includes(status))
    throw new CheckFailed(`${request} must return ${statuses.join(' or ')}; found ${status}: ${short(body)}`);
}

/** The body of a response; throws if it has another status or shape. */
export function read<S extends z.ZodType>(response: ApiResponse, status: number, schema: S): z.infer<S> {
  expectStatus(response, status);
  const { data, error } = schema.safeParse(response.body);
  if (error) throw new CheckFailed(`${response.request} returned ${short(response.body)}: ${error.message}`);
  return data as z.infer<S>;
}

/** Throws unless the values are equal. */
export function expectEqual(what: string, found: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(found, expected))
    throw new CheckFailed(`${what} must be ${short(expected)}; found ${short(found)}.`);
}

const FIRST_PAUSE_MS = 3_000;
const LONGEST_PAUSE_MS = 20_000;

/** Polls until a value is found, for at most this many seconds of pauses, which become longer. */
export async function until<T>(
  { pause }: Pick<Scene, 'pause'>,
  { what, seconds }: { readonly what: string; readonly seconds: number },
  check: () => Promise<{ readonly found: T } | { readonly instead: string }>,
): Promise<T> {
  let waited = 0;
  for (let next = FIRST_PAUSE_MS; ; next = Math.min(2 * next, LONGEST_PAUSE_MS)) {
    const seen = await check();
    if ('found' in seen) return seen.found;
    if (waited >= seconds * 1000)
      throw new CheckFailed(`${what} was expected within ${seconds} seconds; found ${seen.instead}.`);
    await pause(next);
    waited += next;
  }
}

const short = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 500 ? `${text.slice(0, 500)}…` : text;
};
