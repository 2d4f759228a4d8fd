import { deflateRawSync, inflateRawSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

// What patches of conversations are made of, the likeliest last. It is part of the format: what was packed with it
// needs it to be unpacked.
const DICTIONARY = Buffer.from(
  '{"s":{"state":{"$":["map",["set",["date","undefined"true,false,null,"results":{"url":"https://"error":"status":"model":"usage":' +
    '{"input_tokens":"output_tokens":"title":"description":"arguments":"parameters":"value":"key":"data":"result":"stop_reason":"end_turn"' +
    '{"type":"tool_result","tool_use_id":"is_error":"tool_calls":[{"tool_call_id":"function":{"type":"tool_use","id":"toolu_01call_","name":"' +
    '"input":{"role":"tool","role":"system","content":[{"type":"text","text":"}]}]]]}' +
    '{"p":[[["state","messages"],1,0,[{"role":"user","content":"},{"role":"assistant","content":"',
);

// For a few kilobytes deflate with a dictionary is smallest and fastest; above, zstd is several times faster.
const MAX_DEFLATE_BYTES = 32 * 1024;
// What a string can hold; more can only be a trap.
const MAX_TEXT_BYTES = 2 ** 29;
const DEFLATE_MARKER = 1;
const ZSTD_MAGIC = 0x28;

/** UTF-8, compressed where that is smaller. The first byte says how: JSON begins with neither of the two. */
export function compress(text: string, compressSmall: boolean): Uint8Array {
  const plain = Buffer.from(text);
  if (plain.length <= MAX_DEFLATE_BYTES && !compressSmall) return plain;
  const compressed =
    plain.length <= MAX_DEFLATE_BYTES
      ? Buffer.concat([Uint8Array.of(DEFLATE_MARKER), deflateRawSync(plain, { dictionary: DICTIONARY })])
      : zstdCompressSync(plain);
  return compressed.length < plain.length ? compressed : plain;
}

/** The reverse of `pack`; throws on bytes that it did not make. */
export function decompress(bytes: Uint8Array): string {
  const limit = { maxOutputLength: bytes[0] === DEFLATE_MARKER ? MAX_DEFLATE_BYTES : MAX_TEXT_BYTES };
  if (bytes[0] === DEFLATE_MARKER)
    return inflateRawSync(bytes.subarray(1), { dictionary: DICTIONARY, ...limit }).toString();
  if (bytes[0] === ZSTD_MAGIC) return zstdDecompressSync(bytes, limit).toString();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
}
