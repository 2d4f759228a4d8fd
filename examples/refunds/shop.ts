// A simulated shop and its bank. For order o-18, the bank is busy at first.
import { FatalError } from 'waitstate';
import { simulateLatency } from '../simulated/latency.ts';
import { createLedger } from '../simulated/ledger.ts';

export interface Order {
  readonly id: string;
  readonly customer: string;
  readonly bought: string;
  /** In dollars. */
  readonly total: number;
}

const ORDERS = new Map<string, Order>([
  ['o-17', { id: 'o-17', customer: 'customer 4', bought: 'Headphones', total: 80 }],
  ['o-18', { id: 'o-18', customer: 'customer 9', bought: 'Desk lamp', total: 35 }],
]);

/** The payments of the bank. */
export const payments = createLedger('bank');

const busy = createLedger('bank-busy');

export const shop = {
  async find(id: string): Promise<Order> {
    await simulateLatency();
    const order = ORDERS.get(id);
    if (!order) throw new FatalError(`There is no order "${id}". Try ${[...ORDERS.keys()].join(' or ')}.`);
    return order;
  },

  /** Refunds an amount once for each key; returns the amount that was paid for the key. */
  async refund(order: Order, amount: number, idempotencyKey: string): Promise<number> {
    if (order.id === 'o-18' && !busy.entries().some(({ key }) => key === idempotencyKey)) {
      await busy.record({ key: idempotencyKey, what: `refund of ${order.id}`, amount: 0 });
      throw new Error('The bank is busy.');
    }
    const line = await payments.record({ key: idempotencyKey, what: `refund of ${order.id}`, amount });
    return line.amount;
  },
};
