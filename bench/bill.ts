// Counts what a deployment takes on the engines, and prints what it costs: the tables of docs/cost.md.
import { billReport } from './bill-report.ts';
import { printOrWrite } from './page-tables.ts';
import { startWire } from './wire.ts';

const wire = await startWire();
try {
  printOrWrite(await billReport(wire), 'cost.md');
} finally {
  await wire.stop();
}
