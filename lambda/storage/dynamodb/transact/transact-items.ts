// Types of our own: the AWS SDK is an optional peer, and the declarations of the package compile without it.

/** A value in plain JavaScript, as @aws-sdk/lib-dynamodb takes it. */
type PlainValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | Uint8Array
  | ReadonlySet<string>
  | ReadonlySet<number | bigint>
  | ReadonlySet<Uint8Array>
  | readonly PlainValue[]
  | ReadonlyMap<string, PlainValue>
  | PlainObject;

// Any object without these symbols: no function, Date, Promise or iterable. An index signature would reject interfaces.
type PlainObject = object & {
  readonly [Symbol.hasInstance]?: never;
  readonly [Symbol.iterator]?: never;
  readonly [Symbol.toPrimitive]?: never;
  readonly [Symbol.toStringTag]?: never;
};

/** An attribute value of DynamoDB, such as `{ S: 'x' }`. */
export type RawValue =
  | { readonly S: string }
  | { readonly N: string }
  | { readonly B: Uint8Array }
  | { readonly BOOL: boolean }
  | { readonly NULL: boolean }
  | { readonly SS: readonly string[] }
  | { readonly NS: readonly string[] }
  | { readonly BS: readonly Uint8Array[] }
  | { readonly L: readonly RawValue[] }
  | { readonly M: { readonly [name: string]: RawValue } }
  /** Part of the SDK's type, so that the result of `marshall` fits; rejected at run time. */
  | { readonly $unknown: readonly [string, unknown] };

/** A write of `transact`: exactly one of the four members, with plain JavaScript values. */
export type TransactItem = OneOf<
  Writes<{ readonly [name: string]: PlainValue | undefined }, { readonly [name: string]: PlainValue }>
>;

/** A write of `transactRaw`: exactly one of the four members, with attribute values. */
export type RawTransactItem = OneOf<
  Writes<{ readonly [name: string]: RawValue }, { readonly [name: string]: RawValue }>
>;

interface Writes<Item, Values> {
  readonly Put: Write<Values> & { readonly Item: Item };
  readonly Update: Write<Values> & { readonly Key: Values; readonly UpdateExpression: string };
  readonly Delete: Write<Values> & { readonly Key: Values };
  readonly ConditionCheck: Write<Values> & { readonly Key: Values; readonly ConditionExpression: string };
}

interface Write<Values> {
  readonly TableName: string;
  readonly ConditionExpression?: string;
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>>;
  readonly ExpressionAttributeValues?: Values;
}

type OneOf<Members> = {
  [Name in keyof Members]: Pick<Members, Name> & { readonly [Other in Exclude<keyof Members, Name>]?: never };
}[keyof Members];
