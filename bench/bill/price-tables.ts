import { formatMoney, markdownTable } from '../markdown-table.ts';
import { formatPrice, PRICES } from '../prices.ts';
import { type BilledFunction, FUNCTIONS, invocationCost } from './lines.ts';

/** All list prices, with the page that each is from. */
export const pricesTable = (): string =>
  markdownTable(
    ['what', 'list price', 'source'],
    Object.values(PRICES).map((price) => [price.of, formatPrice(price), price.page]),
  );

/** The functions with their memory and assumed duration. */
export const functionsTable = (): string =>
  markdownTable(
    ['function', 'memory (MB)', 'assumed duration (ms)', 'per million invocations'],
    Object.entries<BilledFunction>(FUNCTIONS).map(([name, billed]) => [
      name === 'agent' ? 'agent (what Waitstate adds)' : `\`${name}\``,
      billed.memoryMB,
      billed.durationMs,
      formatMoney(invocationCost(billed)),
    ]),
  );
