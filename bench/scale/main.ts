// Simulates which partitions the requests of many runs hit, and prints the tables of docs/reference/scale.md.
import { printOrWrite } from '../page-tables.ts';
import { scaleReport } from './report.ts';

printOrWrite(await scaleReport(), 'reference/scale.md');
