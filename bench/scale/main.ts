// Simulates where the requests of many runs fall, and prints the tables of docs/scale.md.
import { print } from '../table.ts';
import { scaleReport } from './report.ts';

for (const { title, table } of await scaleReport()) print(`\n## ${title}\n\n${table}`);
