/** Formats a number of bytes with a unit: `1.5 KB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ['KB', 'MB', 'GB', 'TB'];
  let amount = bytes;
  let unit = 'B';
  for (const next of units) {
    if (amount < 1000) break;
    amount /= 1000;
    unit = next;
  }
  return `${amount < 10 ? amount.toFixed(1) : Math.round(amount).toLocaleString('en')} ${unit}`;
}
