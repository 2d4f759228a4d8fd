import type { WireItem } from './item-size.ts';

const NAMES: readonly (readonly [key: RegExp, name: string])[] = [
  [/^cz$/, 'head'],
  [/^c\d/, 'checkpoint'],
  [/^e\d/, 'event'],
  [/^i/, 'signal id'],
  [/^w/, 'early signal'],
  [/^a/, 'approval'],
  [/^b/, 'inbox'],
  [/^n/, 'name'],
];

/** What an item of ours is, by its key; anything else is an item. */
export function itemName({ pk, sk }: WireItem): string {
  if (String(pk?.S).startsWith('@token')) return 'link';
  return NAMES.find(([key]) => key.test(String(sk?.S)))?.[1] ?? 'item';
}
