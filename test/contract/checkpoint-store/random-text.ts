/** Text that does not compress well, the same at every run for the same seed. */
export function randomText(seed: number, length: number): string {
  const bytes = Buffer.alloc(Math.ceil((length * 3) / 4 / 4) * 4);
  let state = seed >>> 0;
  for (let at = 0; at < bytes.length; at += 4) {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    bytes.writeUInt32LE((mixed ^ (mixed >>> 14)) >>> 0, at);
  }
  return bytes.toString('base64').slice(0, length);
}
