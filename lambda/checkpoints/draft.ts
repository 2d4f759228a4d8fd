import { plainHeight, put } from './document/document.ts';

/** What an edit may do: change the draft in place, or return what takes its place. */
export type Edit<State> = (draft: State) => State | void | Promise<State | void>;

/**
 * Runs an edit on a draft of a frozen state and gives back what it made; the state itself stays as it is. Only what the edit looks at is
 * copied, one level at a time, and what it leaves equal comes back as the very object that it was.
 */
export async function edited<State>(state: State, edit: Edit<State>): Promise<State> {
  const drafts: Drafts = { copies: new Map(), byOriginal: new Map() };
  const drafted = draftOf(state, drafts);
  const replaced = await edit(drafted as State);
  return settled(replaced === undefined ? drafted : replaced, drafts, new Set()) as State;
}

type Container = Record<PropertyKey, unknown>;

interface Drafts {
  readonly copies: Map<object, { readonly original: object; readonly copy: Container }>;
  /** An object that occurs twice has one draft. Plain documents are values: each place has its own. */
  readonly byOriginal: Map<object, object>;
}

/** A stand-in for a frozen container: a shallow copy that drafts what is read from it. Frozen is what came from a checkpoint. */
function draftOf(value: unknown, drafts: Drafts): unknown {
  if (value instanceof Map || value instanceof Set) return thawed(value);
  if (!isPlain(value) || !Object.isFrozen(value)) return value;
  const known = drafts.byOriginal.get(value);
  if (known) return known;
  const copy = copyOf(value);
  // Nothing but reading needs a trap: writing, deleting and listing happen on the copy, which is an ordinary object.
  const draft = new Proxy(copy, {
    get(_, key, receiver) {
      const found = Reflect.get(copy, key, receiver);
      if (typeof found !== 'object' || found === null || drafts.copies.has(found) || !Object.hasOwn(copy, key))
        return found;
      const drafted = draftOf(found, drafts);
      if (drafted !== found) put(copy, key as string, drafted);
      return drafted;
    },
  });
  drafts.copies.set(draft, { original: value, copy });
  if (plainHeight(value) === 0) drafts.byOriginal.set(value, draft);
  return draft;
}

/** Takes the drafts out of what an edit made, and unchanged copies back to what they were made of. */
function settled(value: unknown, drafts: Drafts, seen: Set<object>): unknown {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  const drafted = drafts.copies.get(value);
  const container = drafted?.copy ?? (value as Container);
  if (!isPlain(container)) return value;
  if (seen.has(container)) return container;
  seen.add(container);
  const original = drafted?.original as Container | undefined;
  const settle = (key: string | number): boolean => {
    const before = container[key];
    // Most of a large array was not looked at.
    if (original && before === original[key]) return before !== undefined || key in original === key in container;
    const after = settled(before, drafts, seen);
    if (after !== before) put(container, key as string, after);
    return original?.[key] === after;
  };
  let same = true;
  if (Array.isArray(container)) {
    for (let index = 0; index < container.length; index++) same = settle(index) && same;
    same &&= container.length === original?.length;
  } else {
    const keys = Object.keys(container);
    for (const key of keys) same = settle(key) && same;
    same &&= original !== undefined && Object.keys(original).join('\0') === keys.join('\0');
  }
  return same && original ? original : container;
}

/** Maps and sets cannot be drafted by reading alone: they are copied whole, with all that is in them. */
function thawed(value: unknown): unknown {
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [thawed(key), thawed(item)]));
  if (value instanceof Set) return new Set([...value].map(thawed));
  if (!isPlain(value) || !Object.isFrozen(value)) return value;
  const copy = copyOf(value);
  for (const key of Object.keys(copy)) put(copy, key, thawed(copy[key]));
  return copy;
}

function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}

function copyOf(value: object): Container {
  if (Array.isArray(value)) return value.slice() as unknown as Container;
  const copy = { ...value } as Container;
  return Object.getPrototypeOf(value) === null ? Object.setPrototypeOf(copy, null) : copy;
}
