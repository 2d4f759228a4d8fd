import type { WireItem } from './item-size.ts';

const ITEM_NAMES: readonly (readonly [key: RegExp, name: string])[] = [
  [/^cz$/, 'head'],
  [/^c\d/, 'checkpoint'],
  [/^e\d/, 'event'],
  [/^i/, 'signal id'],
  [/^w/, 'early signal'],
  [/^a/, 'approval'],
  [/^b/, 'inbox'],
  [/^n/, 'name'],
];

/** The kind of a Waitstate item by its key; "item" for anything else. */
export function itemName({ pk, sk }: WireItem): string {
  if (String(pk?.S).startsWith('@token')) return 'link';
  return ITEM_NAMES.find(([key]) => key.test(String(sk?.S)))?.[1] ?? 'item';
}
