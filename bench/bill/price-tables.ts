import { markdownTable, money } from '../markdown-table.ts';
import { listed, PRICES } from '../prices.ts';
import { type Billed, FUNCTIONS, invocation } from './lines.ts';

/** The prices that everything is made of, and the page of each. */
export const pricesTable = (): string =>
  markdownTable(
    ['what', 'list price', 'page'],
    Object.values(PRICES).map((price) => [price.of, listed(price), price.page]),
  );

/** The functions, the memory that they have, and how long they are taken to run. */
export const functionsTable = (): string =>
  markdownTable(
    ['function', 'memory, MB', 'taken to run, ms', 'a million invocations'],
    Object.entries<Billed>(FUNCTIONS).map(([name, billed]) => [
      name === 'agent' ? 'an agent, what Waitstate adds' : `\`${name}\``,
      billed.memoryMB,
      billed.ms,
      money(invocation(billed)),
    ]),
  );
