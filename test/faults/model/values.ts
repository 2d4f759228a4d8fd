import { isPayload, payload } from '../../../lambda/checkpoints/payload.ts';

/** A state as the model keeps it: plain JSON, in which `{ payload: text }` stands for a payload of that text. */
export type Plain = null | boolean | number | string | readonly Plain[] | { readonly [key: string]: Plain };

/** The live value that a plain one stands for. */
export function live(plain: Plain): unknown {
  if (Array.isArray(plain)) return plain.map(live);
  if (typeof plain !== 'object' || plain === null) return plain;
  if ('payload' in plain) return payload(String(plain.payload));
  return Object.fromEntries(Object.entries(plain).map(([key, value]) => [key, live(value)]));
}

/** The plain value of a live one; reads every payload. */
export async function plainOf(value: unknown): Promise<unknown> {
  if (isPayload(value)) return { payload: await value.text() };
  if (Array.isArray(value)) return Promise.all(value.map(plainOf));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(async ([key, item]) => [key, await plainOf(item)] as const);
  return Object.fromEntries(await Promise.all(entries));
}
