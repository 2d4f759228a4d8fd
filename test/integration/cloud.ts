/** The account, region and caller of the test. */
export interface Account {
  readonly id: string;
  readonly region: string;
  /** The ARN of the caller. */
  readonly caller: string;
}

/** A remaining resource of a stack. */
export interface Leftover {
  readonly type: string;
  readonly name: string;
}

/** The scheduled handlers. */
type Scheduled = 'sweep' | 'gauge';

/** The AWS operations that the test needs besides the deployed API. Signals abort those that take minutes. */
export interface Cloud {
  /** Throws `SetupError` without credentials or region. */
  account(): Promise<Account>;
  /** Whether CDK can deploy there; also true if the check is denied, since CDK reports it later. */
  isBootstrapped(): Promise<boolean>;
  /** Deploys the app of this repository as a disposable stack, with these operators. */
  deploy(stack: string, operators: string, signal: AbortSignal): Promise<{ readonly apiUrl: string }>;
  /** Invokes a function and returns its result; rejects if it fails. */
  invoke(stack: string, handler: Scheduled): Promise<unknown>;
  /** The number of messages in the dead-letter queue. */
  deadLetters(stack: string): Promise<number>;
  /** The exit code of `waitstate doctor`. */
  doctor(stack: string, signal: AbortSignal): Promise<number>;
  /** Empties the buckets of a stack, if it exists. */
  empty(stack: string, signal: AbortSignal): Promise<void>;
  /** Deletes a stack and waits until it is deleted, if it exists. */
  destroy(stack: string, signal: AbortSignal): Promise<void>;
  /** The remaining resources of a stack; empty if it is deleted. */
  left(stack: string): Promise<readonly Leftover[]>;
}
