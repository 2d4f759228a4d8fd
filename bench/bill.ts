// Counts what a deployment takes on the engines, and prints what it costs: the tables of docs/cost.md.
import { billReport } from './bill-report.ts';
import { print } from './table.ts';
import { startWire } from './wire.ts';

const wire = await startWire();
try {
  for (const { title, table } of await billReport(wire)) print(`\n## ${title}\n\n${table}`);
} finally {
  await wire.stop();
}
