import zlib from 'node:zlib';

// Everything that stores runs imports this module. A named import of zstd would fail in an older Node with a
// SyntaxError, before any of our code runs.
if (!zlib.zstdCompressSync)
  throw new Error(`Waitstate needs Node 22.15 or later; this is ${process.version}. Install Node 24.`);

// Text that is common in patches of conversations, the most likely last. It is part of the format: decompressing needs
// the same dictionary.
const DICTIONARY = Buffer.from(
  '{"s":{"state":{"$":["map",["set",["date","undefined"true,false,null,"results":{"url":"https://"error":"status":"model":"usage":' +
    '{"input_tokens":"output_tokens":"title":"description":"arguments":"parameters":"value":"key":"data":"result":"stop_reason":"end_turn"' +
    '{"type":"tool_result","tool_use_id":"is_error":"tool_calls":[{"tool_call_id":"function":{"type":"tool_use","id":"toolu_01call_","name":"' +
    '"input":{"role":"tool","role":"system","content":[{"type":"text","text":"}]}]]]}' +
    '{"p":[[["state","messages"],1,0,[{"role":"user","content":"},{"role":"assistant","content":"',
);

// For a few kilobytes, deflate with a dictionary is smallest and fastest; above that, zstd is several times faster.
const MAX_DEFLATE_BYTES = 32 * 1024;
// The maximum length of a string; more can only be a decompression bomb.
const MAX_TEXT_BYTES = 2 ** 29;
const DEFLATE_MARKER = 1;
const ZSTD_MAGIC = 0x28;

/** UTF-8, compressed if that is smaller. The first byte tells the format: JSON starts with neither marker. */
export function compress(text: string, compressSmall: boolean): Uint8Array {
  const plain = Buffer.from(text);
  if (plain.length <= MAX_DEFLATE_BYTES && !compressSmall) return plain;
  const compressed =
    plain.length <= MAX_DEFLATE_BYTES
      ? Buffer.concat([Uint8Array.of(DEFLATE_MARKER), zlib.deflateRawSync(plain, { dictionary: DICTIONARY })])
      : zlib.zstdCompressSync(plain);
  return compressed.length < plain.length ? compressed : plain;
}

/** The reverse of `compress`; throws on any other bytes. */
export function decompress(bytes: Uint8Array): string {
  const limit = { maxOutputLength: bytes[0] === DEFLATE_MARKER ? MAX_DEFLATE_BYTES : MAX_TEXT_BYTES };
  if (bytes[0] === DEFLATE_MARKER)
    return zlib.inflateRawSync(bytes.subarray(1), { dictionary: DICTIONARY, ...limit }).toString();
  if (bytes[0] === ZSTD_MAGIC) return zlib.zstdDecompressSync(bytes, limit).toString();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
}
