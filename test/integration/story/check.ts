import { isDeepStrictEqual } from 'node:util';
import type * as z from 'zod';
import type { Cloud } from '../cloud.ts';
import type { Answer, Api } from './api.ts';

/** What a check looks at. */
export interface Scene {
  readonly api: Api;
  readonly cloud: Pick<Cloud, 'invoke' | 'deadLetters' | 'doctor'>;
  readonly stack: string;
  /** Aborts when somebody wants to stop. */
  readonly signal: AbortSignal;
  pause(milliseconds: number): Promise<void>;
}

/** Something that must be so; `run` rejects with what is wrong when it is not. */
export interface Check {
  readonly name: string;
  run(scene: Scene): Promise<void>;
}

/** The deployment is not as it must be. */
export class CheckFailed extends Error {
  override readonly name = 'CheckFailed';
}

/** Refuses an answer of another status than these. */
export function expectStatus(answer: Answer, ...statuses: readonly number[]): void {
  const { request, status, body } = answer;
  if (!statuses.includes(status))
    throw new CheckFailed(`${request} must answer ${statuses.join(' or ')}; it answered ${status}: ${short(body)}`);
}

/** What an answer has, if it is one of this status and shape. */
export function read<S extends z.ZodType>(answer: Answer, status: number, schema: S): z.infer<S> {
  expectStatus(answer, status);
  const { data, error } = schema.safeParse(answer.body);
  if (error) throw new CheckFailed(`${answer.request} answered ${short(answer.body)}: ${error.message}`);
  return data as z.infer<S>;
}

/** Refuses what is not the same. */
export function expectEqual(what: string, found: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(found, expected))
    throw new CheckFailed(`${what} must be ${short(expected)}; found ${short(found)}.`);
}

const PAUSE_MS = 3_000;

/** Looks again and again until there is something, for so many seconds of pauses. */
export async function until<T>(
  { pause }: Pick<Scene, 'pause'>,
  { what, seconds }: { readonly what: string; readonly seconds: number },
  look: () => Promise<{ readonly found: T } | { readonly instead: string }>,
): Promise<T> {
  for (let waited = 0; ; waited += PAUSE_MS) {
    const seen = await look();
    if ('found' in seen) return seen.found;
    if (waited >= seconds * 1000)
      throw new CheckFailed(`${what} was expected within ${seconds} seconds; found ${seen.instead}.`);
    await pause(PAUSE_MS);
  }
}

const short = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 500 ? `${text.slice(0, 500)}…` : text;
};
