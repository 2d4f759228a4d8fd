import { compare } from './document/compare.ts';
import type { Doc } from './document/document.ts';
import { render } from './document/render.ts';

/** What changed from one state to another, by path. */
export interface Difference {
  readonly added: readonly { readonly path: string; readonly value: unknown }[];
  readonly removed: readonly { readonly path: string; readonly value: unknown }[];
  readonly changed: readonly { readonly path: string; readonly before: unknown; readonly after: unknown }[];
  /** The same for people: a line for each change. */
  readonly text: string;
}

export function differenceOf(before: Doc, after: Doc, toValue: (doc: Doc) => unknown): Difference {
  return { ...compare(before, after, toValue), text: render(compare(before, after)) };
}
