import type { Checkpoint } from './checkpoint.ts';
import { MAX_DEPTH, plainHeight, put } from './document/document.ts';
import type { Payload } from './payload.ts';

/** A mutable version of a state, without `readonly`. Values that cannot be drafted, such as a Date, keep their type. */
export type Draft<T> = T extends
  | ((...args: never) => unknown)
  | Date
  | RegExp
  | URL
  | Error
  | Payload
  | ArrayBufferView
  | ArrayBuffer
  ? T
  : T extends ReadonlyMap<infer K, infer V>
    ? Map<K, Draft<V>>
    : T extends ReadonlySet<infer V>
      ? Set<Draft<V>>
      : T extends object
        ? { -readonly [K in keyof T]: Draft<T[K]> }
        : T;

/** Changes the draft in place, or returns a new state. It may run again after a conflict. */
export type Edit<State> = (
  draft: Draft<State>,
  /** The checkpoint of the draft; undefined for a new run. */
  checkpoint: Checkpoint<State> | undefined,
) => State | Draft<State> | void | Promise<State | Draft<State> | void>;

/**
 * Runs an edit on a draft of a frozen state and returns the new state; the original stays unchanged. Only the parts
 * that the edit reads are copied, one level at a time, and unchanged parts are the original objects.
 */
export async function applyEdit<State>(
  state: State,
  edit: Edit<State>,
  checkpoint: Checkpoint<State> | undefined,
): Promise<State> {
  const drafts: Drafts = new Map();
  // A full copy is needed for a state that belongs to the caller, and for a state with shared references: a change to a
  // shared object must be visible everywhere, also in parts that the edit does not read.
  const needsFullCopy = !checkpoint || hasSharedReferences(state, new Set());
  const drafted = needsFullCopy ? deepCopy(state, new Map()) : createDraft(state, drafts);
  const replaced = await edit(drafted as Draft<State>, checkpoint);
  return finalizeDraft(replaced === undefined ? drafted : replaced, drafts, new Map(), 0) as State;
}

type Container = Record<PropertyKey, unknown>;
type Collection = Map<unknown, unknown> | Set<unknown>;
type Drafts = Map<object, { readonly original: object; readonly copy: Container }>;

/**
 * A proxy for a frozen container, which comes from a checkpoint: a shallow copy that drafts the values read from it.
 */
function createDraft(value: unknown, drafts: Drafts): unknown {
  if (isCollection(value)) return deepCopy(value, new Map());
  if (!isPlain(value) || !Object.isFrozen(value)) return value;
  const copy = shallowCopy(value);
  // Only reads need a trap: writes, deletes and listings work on the copy, which is an ordinary object.
  const draft = new Proxy(copy, {
    get(_, key, receiver) {
      const found = Reflect.get(copy, key, receiver);
      if (typeof found !== 'object' || found === null || drafts.has(found) || !Object.hasOwn(copy, key)) return found;
      // A Map or Set that the edit already received or assigned is mutable.
      if (isCollection(found) && found !== Reflect.get(value, key)) return found;
      const drafted = createDraft(found, drafts);
      if (drafted !== found) put(copy, key as string, drafted);
      return drafted;
    },
  });
  drafts.set(draft, { original: value, copy });
  return draft;
}

/** Replaces drafts by their copies, and unchanged copies by their originals. */
function finalizeDraft(value: unknown, drafts: Drafts, seen: Map<object, unknown>, depth: number): unknown {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  // Too deep for a state: encoding rejects it with its path.
  if (depth > MAX_DEPTH) return value;
  const drafted = drafts.get(value);
  const container = drafted?.copy ?? (value as Container);
  if (seen.has(container)) return seen.get(container);
  seen.set(container, container);
  if (isCollection(container)) finalizeCollection(container, (item) => finalizeDraft(item, drafts, seen, depth + 1));
  if (!isPlain(container)) return value;
  const original = drafted?.original as Container | undefined;
  const finalizeKey = (key: string | number): boolean => {
    const before = container[key];
    // Fast path: most of a large array was not read.
    if (original && before === original[key]) return before !== undefined || key in original === key in container;
    const after = finalizeDraft(before, drafts, seen, depth + 1);
    if (after !== before) put(container, key as string, after);
    return original?.[key] === after;
  };
  let isUnchanged = true;
  if (Array.isArray(container)) {
    for (let index = 0; index < container.length; index++) isUnchanged = finalizeKey(index) && isUnchanged;
    isUnchanged &&= container.length === original?.length;
  } else {
    const keys = Object.keys(container);
    for (const key of keys) isUnchanged = finalizeKey(key) && isUnchanged;
    isUnchanged &&= original !== undefined && Object.keys(original).join('\0') === keys.join('\0');
  }
  if (isUnchanged && original) seen.set(container, original);
  return seen.get(container);
}

/** Finalizes the items of a Map or Set and keeps their order. */
function finalizeCollection(collection: Collection, finalizeItem: (item: unknown) => unknown): void {
  const isMap = collection instanceof Map;
  const before: readonly unknown[][] = isMap ? [...collection] : [...collection].map((item) => [item]);
  const after = before.map((parts) => parts.map(finalizeItem));
  if (after.every((parts, i) => parts.every((part, j) => part === before[i]?.[j]))) return;
  collection.clear();
  for (const [item, value] of after) {
    if (isMap) collection.set(item, value);
    else collection.add(item);
  }
}

/** A deep copy of plain objects, arrays, Maps and Sets; any other value is kept by reference. */
function deepCopy(value: unknown, copies: Map<object, object>, depth = 0): unknown {
  if ((!isCollection(value) && !isPlain(value)) || depth > MAX_DEPTH) return value;
  const existing = copies.get(value);
  if (existing) return existing;
  const rememberCopy = <T extends object>(copy: T): T => {
    if (plainHeight(value) === 0) copies.set(value, copy);
    return copy;
  };
  const copyItem = (item: unknown) => deepCopy(item, copies, depth + 1);
  if (value instanceof Map) {
    const map = rememberCopy(new Map<unknown, unknown>());
    for (const [key, item] of value) map.set(copyItem(key), copyItem(item));
    return map;
  }
  if (value instanceof Set) {
    const set = rememberCopy(new Set<unknown>());
    for (const item of value) set.add(copyItem(item));
    return set;
  }
  const copy = rememberCopy(shallowCopy(value));
  for (const key of Object.keys(copy)) put(copy, key, copyItem(copy[key]));
  return copy;
}

/** Whether an object occurs more than once, or contains itself. Plain documents are values and never shared. */
function hasSharedReferences(value: unknown, seen: Set<object>): boolean {
  if (!isCollection(value) && (!isPlain(value) || plainHeight(value) > 0)) return false;
  if (seen.has(value)) return true;
  seen.add(value);
  const parts = value instanceof Map ? [...value].flat() : value instanceof Set ? [...value] : Object.values(value);
  return parts.some((part) => hasSharedReferences(part, seen));
}

const isCollection = (value: unknown): value is Collection => value instanceof Map || value instanceof Set;

function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}

function shallowCopy(value: object): Container {
  if (Array.isArray(value)) return value.slice() as unknown as Container;
  const copy = { ...value } as Container;
  return Object.getPrototypeOf(value) === null ? Object.setPrototypeOf(copy, null) : copy;
}
