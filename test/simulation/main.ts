import { simulate } from './simulate.ts';
const first = Number(process.argv[2] ?? 1), count = Number(process.argv[3] ?? 100), broken = process.argv[4];
process.on('unhandledRejection', (e) => console.log('UNHANDLED', e));
const t = performance.now();
let bad = 0, happened = 0;
const kinds = new Map<string, number[]>();
for (let seed = first; seed < first + count; seed++) {
  const r = await simulate(seed, { broken: broken === '-' ? undefined : broken, traces: process.argv[5] === 'trace' });
  happened += r.happened;
  if (process.argv[5] === 'trace') console.log(r.trace.join('\n'));
  if (r.findings.length) { bad++; const k = r.findings[0]!.replace(/\d+/g,'N').slice(0, 150); kinds.set(k, [...(kinds.get(k) ?? []), seed]); if (count < 20) console.log(seed, r.findings); }
}
console.log({ bad, ms: (performance.now() - t) / count, happened: happened / count });
for (const [k, s] of [...kinds].sort((a, b) => b[1].length - a[1].length).slice(0, 25)) console.log(s.length, k, s.slice(0, 4).join(' '));
console.log('check', (globalThis as any).checkMs / count);
