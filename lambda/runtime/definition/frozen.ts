type Scalar = string | number | bigint | boolean | symbol | null | undefined;
type Method = (...args: never) => unknown;

/**
 * A frozen state: its fields and the items of its arrays are readonly at every level. It can still be assigned to the
 * type that it freezes. Values with methods, such as a Date or an instance of a class, keep their type.
 */
export type Frozen<T> = T extends Scalar | Method
  ? T
  : // With `T[number]` instead of `infer`, a context could not be passed to a function that needs less of the state.
    T extends (infer Item)[]
    ? number extends T['length']
      ? FrozenArray<Frozen<Item>>
      : { [Index in keyof T]: Frozen<T[Index]> }
    : T extends readonly unknown[]
      ? { readonly [Index in keyof T]: Frozen<T[Index]> }
      : T extends object
        ? [Extract<T[keyof T], Method>] extends [never]
          ? { readonly [Key in keyof T]: Frozen<T[Key]> }
          : T
        : T;

// The compiler shows this text where code changes an array of the state.
type Copied = 'ctx.state is frozen: copy the array first, or change it in ctx.update';

/**
 * An array that code can read and pass on as an `Item[]`, but not change. A `readonly Item[]` could not be passed on:
 * TypeScript refuses it where an `Item[]` is expected.
 */
interface FrozenArray<Item> extends Array<Item> {
  readonly [index: number]: Item;
  readonly length: number;
  push(this: Copied, ...items: Item[]): number;
  pop(this: Copied): Item | undefined;
  shift(this: Copied): Item | undefined;
  unshift(this: Copied, ...items: Item[]): number;
  splice(this: Copied, start: number, deleteCount?: number, ...items: Item[]): Item[];
  sort(this: Copied, compare?: (a: Item, b: Item) => number): this;
  reverse(this: Copied): Item[];
  fill(this: Copied, value: Item, start?: number, end?: number): this;
  copyWithin(this: Copied, target: number, start: number, end?: number): this;
}
