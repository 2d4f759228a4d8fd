import { WaitstateError } from '../core/errors.ts';
import type { Page, StoredRecord } from './ports.ts';

const MAX_PAGE_BYTES = 1024 * 1024;

/** A record with its position in the order, which is what a cursor encodes. */
export interface PositionedRecord {
  readonly record: StoredRecord;
  readonly position: readonly string[];
}

/** Takes records up to the limit or about 1 MB of content; `next` is set only when at least one more record follows. */
export function takePage(source: Iterable<PositionedRecord>, limit = Number.POSITIVE_INFINITY): Page {
  const records: StoredRecord[] = [];
  let last: readonly string[] = [];
  let bytes = 0;
  for (const { record, position } of source) {
    const full = bytes >= MAX_PAGE_BYTES || records.length >= Math.max(1, limit);
    if (full) return { records, next: Buffer.from(JSON.stringify(last)).toString('base64url') };
    records.push(record);
    bytes += record.partition.length + record.key.length + record.meta.length + (record.body?.length ?? 0);
    last = position;
  }
  return { records };
}

/** The position in a cursor of `takePage`, with the expected number of parts; rejects any other text. */
export function decodeCursor(cursor: string, parts: number): string[] {
  try {
    const position: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (Array.isArray(position) && position.length === parts && position.every((part) => typeof part === 'string')) {
      return position;
    }
  } catch {
    // Invalid JSON is rejected below.
  }
  throw new WaitstateError('INVALID_INPUT', `\`after\` must be the \`next\` of an earlier page; found ${cursor}.`);
}
