/** Where the test is run, and by whom. */
export interface Account {
  readonly id: string;
  readonly region: string;
  /** The ARN of who runs it. */
  readonly caller: string;
}

/** Something of a stack that is still there. */
export interface Leftover {
  readonly type: string;
  readonly name: string;
}

/** The functions of a Waitstate that a schedule invokes. */
type Scheduled = 'sweep' | 'gauge';

/** What the test needs of AWS, beside the API that it deploys. Signals end what takes minutes. */
export interface Cloud {
  /** Refuses with `SetupError` where there are no credentials, or no region. */
  account(): Promise<Account>;
  /** Whether CDK can deploy there; true as well where we may not look, since CDK will say. */
  isBootstrapped(): Promise<boolean>;
  /** Deploys the app of this repository, to go with its stack; `operators` may do everything. */
  deploy(stack: string, operators: string, signal: AbortSignal): Promise<{ readonly apiUrl: string }>;
  /** What a function answers; rejects when it failed. */
  invoke(stack: string, handler: Scheduled): Promise<unknown>;
  /** How many messages are in the queue of what was given up. */
  deadLetters(stack: string): Promise<number>;
  /** What `waitstate doctor` ends with. */
  doctor(stack: string, signal: AbortSignal): Promise<number>;
  /** Removes all that is in the buckets of a stack, or does nothing when there is none. */
  empty(stack: string, signal: AbortSignal): Promise<void>;
  /** Removes a stack, and waits until it is gone; does nothing when there is none. */
  destroy(stack: string, signal: AbortSignal): Promise<void>;
  /** What is still there of a stack: nothing when it is gone. */
  left(stack: string): Promise<readonly Leftover[]>;
}
