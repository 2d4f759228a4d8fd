/** An attribute value on the wire: an object with one key, the type. */
type WireValue = Readonly<Record<string, unknown>>;
export type WireItem = Readonly<Record<string, WireValue>>;

/**
 * The size of an item by the documented rules: its attribute names and values, as UTF-8 or raw bytes.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
 */
export function itemBytes(item: WireItem): number {
  let bytes = 0;
  for (const [name, value] of Object.entries(item)) bytes += Buffer.byteLength(name) + valueBytes(value);
  return bytes;
}

function valueBytes(value: WireValue): number {
  const [entry] = Object.entries(value);
  if (!entry) return 0;
  const [type, content] = entry;
  if (type === 'S') return Buffer.byteLength(String(content));
  if (type === 'B') return Buffer.from(String(content), 'base64').length;
  if (type === 'N') return Math.ceil(String(content).replace(/[-.]/g, '').length / 2) + 1;
  if (type === 'M') {
    const members = Object.entries(content as WireItem);
    return members.reduce((sum, [name, each]) => sum + 1 + Buffer.byteLength(name) + valueBytes(each), 3);
  }
  if (type === 'L') return (content as WireValue[]).reduce((sum, each) => sum + 1 + valueBytes(each), 3);
  if (type === 'SS' || type === 'NS')
    return (content as string[]).reduce((sum, each) => sum + Buffer.byteLength(each), 0);
  if (type === 'BS') return (content as string[]).reduce((sum, each) => sum + Buffer.from(each, 'base64').length, 0);
  return 1;
}
