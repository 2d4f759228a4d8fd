// A simulated shop and its bank. For order o-18, the bank is busy at first.
import { FatalError, type TransactItem } from 'waitstate';
import { createLedger } from '../simulated/create-ledger.ts';
import { simulateLatency } from '../simulated/latency.ts';

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
    const isKnown = (await busy.entries()).some(({ key }) => key === idempotencyKey);
    if (order.id === 'o-18' && !isKnown) {
      await busy.record({ key: idempotencyKey, what: `refund of ${order.id}`, amount: 0 });
      throw new Error('The bank is busy.');
    }
    const line = await payments.record({ key: idempotencyKey, what: `refund of ${order.id}`, amount });
    return line.amount;
  },
};

/** The rows of a refund in the shop's table: its receipt, and one more returned article. `ADD` is not idempotent. */
export const refundRows = (TableName: string, order: Order, paid: number, run: string): readonly TransactItem[] => [
  { Put: { TableName, Item: { service: 'receipts', key: run, order, paid } } },
  {
    Update: {
      TableName,
      Key: { service: 'stock', key: order.bought },
      UpdateExpression: 'ADD returned :one',
      ExpressionAttributeValues: { ':one': 1 },
    },
  },
];
