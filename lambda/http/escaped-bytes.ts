/** A character takes at most this many bytes in a JSON string: a control character becomes `\\u0000`. */
const MAX_BYTES_PER_CHARACTER = 6;

/** Whether a text, as a JSON string inside a response of Lambda, takes more bytes than allowed: a quote takes two. */
export const exceedsEscapedBytes = (text: string, allowed: number): boolean =>
  text.length * MAX_BYTES_PER_CHARACTER > allowed && Buffer.byteLength(JSON.stringify(text)) > allowed;
