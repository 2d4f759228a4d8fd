import type { StandardSchema } from './standard-schema.ts';

/** The schemas of signals, by their names. */
export interface SignalSchemas {
  readonly [name: string]: StandardSchema;
}

/** The names that an agent declares; any name if it declares none. */
export type SignalName<Signals extends SignalSchemas> = keyof Signals & string;

/** The value that the agent receives: the output of the schema. */
export type SignalValue<Signals extends SignalSchemas, Name extends keyof Signals> =
  Signals[Name] extends StandardSchema<infer _Input, infer Output> ? Output : unknown;

type SignalInput<Signals extends SignalSchemas, Name extends keyof Signals> =
  Signals[Name] extends StandardSchema<infer Input, infer _Output> ? Input : unknown;

/** The arguments that follow the name when a signal is sent: the input of the schema, and options. */
export type SignalArguments<Signals extends SignalSchemas, Name extends keyof Signals, Options> =
  undefined extends SignalInput<Signals, Name>
    ? [value?: SignalInput<Signals, Name>, options?: Options]
    : [value: SignalInput<Signals, Name>, options?: Options];
