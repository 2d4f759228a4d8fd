import type { ListName } from '../ports.ts';

/** The index of each list, and the attributes with a record's group and order in it. */
export const LISTS = {
  status: { index: 'status', group: 'sg', order: 'so' },
  owner: { index: 'owner', group: 'og', order: 'oo' },
  due: { index: 'due', group: 'dg', order: 'do' },
} as const satisfies Record<ListName, { index: string; group: string; order: string }>;
