import {
  adopt,
  type Doc,
  damaged,
  isContainer,
  isList,
  type List,
  plainHeight,
  put,
  specialOf,
  verbatimPart,
} from './document.ts';

/** A payload as a document names it. */
export interface PayloadRef {
  readonly id: string;
  readonly sha256: string;
  readonly size: number;
  readonly type?: string;
  readonly digest?: string;
}

/** The document that stands for a payload. */
export function payloadDoc({ id, sha256, size, type, digest }: PayloadRef): Doc {
  const rest = digest !== undefined ? [type ?? null, digest] : type !== undefined ? [type] : [];
  return adopt({ $: ['payload', id, sha256, size, ...rest] });
}

/** The payload that the parts of a `$` node name. */
export function readPayloadRef([, id, sha256, size, type = null, digest = null]: List): PayloadRef {
  if (typeof id !== 'string' || typeof sha256 !== 'string' || typeof size !== 'number')
    throw damaged('a payload has no id');
  return {
    id,
    sha256,
    size,
    ...(typeof type === 'string' ? { type } : {}),
    ...(typeof digest === 'string' ? { digest } : {}),
  };
}

/** Every payload in a document, once for each id, in order. */
export function payloadRefs(doc: Doc): PayloadRef[] {
  const refs = new Map<string, PayloadRef>();
  mapPayloadRefs(doc, (ref) => {
    if (!refs.has(ref.id)) refs.set(ref.id, ref);
    return ref;
  });
  return [...refs.values()];
}

/** The document with its payloads named otherwise; what has none is reused. */
export function mapPayloadRefs(doc: Doc, change: (ref: PayloadRef) => PayloadRef): Doc {
  return adopt(visit(doc, change));
}

function visit(doc: Doc, change: (ref: PayloadRef) => PayloadRef): Doc {
  if (!isContainer(doc) || plainHeight(doc) > 0) return doc;
  const parts = specialOf(doc);
  if (!isList(parts)) return visitChildren(doc, change);
  if (parts[0] === 'payload') {
    const ref = readPayloadRef(parts);
    const changed = change(ref);
    return changed === ref ? doc : payloadDoc(changed);
  }
  const verbatim = verbatimPart(parts[0]);
  const mapped = parts.map((part, i) =>
    i === verbatim && isContainer(part) ? visitChildren(part, change) : visit(part, change),
  );
  return mapped.every((part, i) => part === parts[i]) ? doc : { $: mapped };
}

function visitChildren(doc: Doc & object, change: (ref: PayloadRef) => PayloadRef): Doc {
  let same = true;
  const copy = isList(doc) ? [] : {};
  for (const [key, child] of Object.entries<Doc>(doc)) {
    const mapped = visit(child, change);
    same &&= mapped === child;
    put(copy, key, mapped);
  }
  return same ? doc : copy;
}
