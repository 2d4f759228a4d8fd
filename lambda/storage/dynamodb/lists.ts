import type { ListName } from '../ports.ts';

/** Where the table keeps each list: an index, and the attributes that hold a record's group and order there. */
export const LISTS = {
  status: { index: 'status', group: 'sg', order: 'so' },
  owner: { index: 'owner', group: 'og', order: 'oo' },
  due: { index: 'due', group: 'dg', order: 'do' },
} as const satisfies Record<ListName, { index: string; group: string; order: string }>;
