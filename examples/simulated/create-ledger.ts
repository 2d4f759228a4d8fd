import { fileLedger } from './file-ledger.ts';
import type { Ledger, Line, Payment } from './ledger.ts';

/** The ledger of one service: a DynamoDB table if EXAMPLES_TABLE is set, as on AWS, and a file on one machine. */
export function createLedger<L extends Line = Payment>(service: string): Ledger<L> {
  const open = async (): Promise<Ledger<L>> => {
    const { EXAMPLES_TABLE: table } = process.env;
    if (!table) return fileLedger(service);
    const { tableLedger } = await import('./table-ledger.ts');
    return tableLedger(table, service);
  };
  return {
    record: async (line) => (await open()).record(line),
    entries: async () => (await open()).entries(),
  };
}
