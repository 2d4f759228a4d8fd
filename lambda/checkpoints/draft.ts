import type { Checkpoint } from './checkpoint.ts';
import { MAX_DEPTH, plainHeight, put } from './document/document.ts';
import type { Payload } from './payload.ts';

/** A state that may be changed: the same without `readonly`. What cannot be drafted, such as a Date, stays as it is. */
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

/**
 * Changes the draft of a state in place, or returns what takes its place. It may be run again when somebody else was
 * faster.
 */
export type Edit<State> = (
  draft: Draft<State>,
  /** What the draft is of; undefined when the run only begins. */
  checkpoint: Checkpoint<State> | undefined,
) => State | Draft<State> | void | Promise<State | Draft<State> | void>;

/**
 * Runs an edit on a draft of a frozen state and gives back what it made; the state itself stays as it is. Only what the
 * edit looks at is copied, one level at a time, and what it leaves equal comes back as the very object that it was.
 */
export async function applyEdit<State>(
  state: State,
  edit: Edit<State>,
  checkpoint: Checkpoint<State> | undefined,
): Promise<State> {
  const drafts: Drafts = new Map();
  // Whole is what does not come from a checkpoint, and is the caller's own; and what has an object in several places, where a
  // change is to be seen in all of them, also where the edit does not look.
  const needsFullCopy = !checkpoint || hasSharedReferences(state, new Set());
  const drafted = needsFullCopy ? deepCopy(state, new Map()) : createDraft(state, drafts);
  const replaced = await edit(drafted as Draft<State>, checkpoint);
  return finalizeDraft(replaced === undefined ? drafted : replaced, drafts, new Map(), 0) as State;
}

type Container = Record<PropertyKey, unknown>;
type Collection = Map<unknown, unknown> | Set<unknown>;
type Drafts = Map<object, { readonly original: object; readonly copy: Container }>;

/**
 * A stand-in for a frozen container: a shallow copy that drafts what is read from it. Frozen is what came from a
 * checkpoint.
 */
function createDraft(value: unknown, drafts: Drafts): unknown {
  if (isCollection(value)) return deepCopy(value, new Map());
  if (!isPlain(value) || !Object.isFrozen(value)) return value;
  const copy = shallowCopy(value);
  // Nothing but reading needs a trap: writing, deleting and listing happen on the copy, which is an ordinary object.
  const draft = new Proxy(copy, {
    get(_, key, receiver) {
      const found = Reflect.get(copy, key, receiver);
      if (typeof found !== 'object' || found === null || drafts.has(found) || !Object.hasOwn(copy, key)) return found;
      // A Map or Set that the edit was given before, or put there, is its own to change.
      if (isCollection(found) && found !== Reflect.get(value, key)) return found;
      const drafted = createDraft(found, drafts);
      if (drafted !== found) put(copy, key as string, drafted);
      return drafted;
    },
  });
  drafts.set(draft, { original: value, copy });
  return draft;
}

/** Takes the drafts out of what an edit made, and unchanged copies back to what they were made of. */
function finalizeDraft(value: unknown, drafts: Drafts, seen: Map<object, unknown>, depth: number): unknown {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  // Deeper than a state may be: whoever encodes it refuses it by its path.
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
    // Most of a large array was not looked at.
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

/** The same for what is in a Map or Set, in its order. */
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

/** A copy of everything in a value: what cannot be drafted by reading alone. What is neither plain nor a collection stays. */
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

/** Whether an object occurs more than once, or in itself. Plain documents are values, which never do. */
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
