import { decodeValue } from './content.ts';
import type { RunContext } from './context.ts';
import { compare } from './document/compare.ts';
import { render } from './document/render.ts';
import { type At, openTail } from './tail.ts';

/** What changed from one state to another, by path. */
export interface Difference {
  readonly added: readonly { readonly path: string; readonly value: unknown }[];
  readonly removed: readonly { readonly path: string; readonly value: unknown }[];
  readonly changed: readonly { readonly path: string; readonly before: unknown; readonly after: unknown }[];
  /** The same for people: a line for each change. */
  readonly text: string;
}

export async function difference(at: RunContext, before: At, after: At): Promise<Difference> {
  const from = await openTail(at, before);
  const to = await openTail(at, after);
  const compared = compare(from.root.state, to.root.state);
  return { ...compare(from.root.state, to.root.state, (doc) => decodeValue(at, to, doc)), text: render(compared) };
}
