/** Something that a service did for an idempotency key. */
export interface Line {
  readonly key: string;
}

/** A payment. */
export interface Payment extends Line {
  readonly what: string;
  /** In dollars. */
  readonly amount: number;
}

/** The entries of a simulated service, which all processes share. */
export interface Ledger<L extends Line = Payment> {
  /** Records an entry unless its key has one; returns the entry of the key. */
  record(line: L): Promise<L>;
  entries(): Promise<readonly L[]>;
}
