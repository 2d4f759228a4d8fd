import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { GetObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { decompress } from '../../../lambda/checkpoints/format/compression.ts';
import type { Account } from './account.ts';

/** Marker texts in runs of the agent `orders`: in the state, an approval, a result and a decision. */
export const PLAIN = ['PLAIN-STATE', 'PLAIN-TITLE', 'PLAIN-SHEET', 'PLAIN-COMMENT'];

/** The marker texts that can be read in table and bucket without a key. */
export async function findPlaintext({ storage: { client, s3, tables, buckets } }: Account): Promise<readonly string[]> {
  const pieces: string[] = [];
  for (const TableName of tables.keys()) {
    const { Items = [] } = await client.send(new ScanCommand({ TableName }));
    for (const { b, ...item } of Items) pieces.push(JSON.stringify(item), readable(b?.B ?? new Uint8Array()));
  }
  for (const Bucket of buckets.keys()) {
    const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket }));
    for (const { Key } of Contents) {
      const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }));
      pieces.push(readable((await Body?.transformToByteArray()) ?? new Uint8Array()));
    }
  }
  const text = pieces.join('\n');
  return PLAIN.filter((each) => text.includes(each));
}

/** Bytes as text, decompressed if they are compressed. */
function readable(bytes: Uint8Array): string {
  try {
    return decompress(bytes);
  } catch {
    return Buffer.from(bytes).toString('latin1');
  }
}
