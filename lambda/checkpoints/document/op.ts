import type { Doc } from './document.ts';

export type Key = string | number;

/** One change, distinguished by its length: remove a key, set a value, or splice an array or a string. */
export type Op =
  | readonly [path: readonly Key[]]
  | readonly [path: readonly Key[], value: Doc]
  | readonly [path: readonly Key[], index: number, removed: number, added: readonly Doc[] | string];
