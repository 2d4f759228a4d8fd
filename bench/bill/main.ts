// Counts what a deployment uses on the test engines and prints its cost: the tables of docs/reference/cost.md.

import { printOrWrite } from '../page-tables.ts';
import { startWire } from '../wire.ts';
import { billReport } from './report.ts';

const wire = await startWire();
try {
  printOrWrite(await billReport(wire), 'reference/cost.md');
} finally {
  await wire.stop();
}
