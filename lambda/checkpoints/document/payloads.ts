import {
  adopt,
  type Doc,
  damaged,
  isContainer,
  isList,
  type List,
  plainHeight,
  specialOf,
  verbatimPart,
} from './document.ts';

/** A reference to a payload in a document. */
export interface PayloadRef {
  readonly id: string;
  readonly sha256: string;
  readonly size: number;
  readonly type?: string;
  readonly digest?: string;
}

/** The document for a payload reference. */
export function payloadDoc({ id, sha256, size, type, digest }: PayloadRef): Doc {
  const rest = digest !== undefined ? [type ?? null, digest] : type !== undefined ? [type] : [];
  return adopt({ $: ['payload', id, sha256, size, ...rest] });
}

/** The payload reference in the parts of a `$` node. */
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

const refsByDocument = new WeakMap<object, ReadonlyMap<string, PayloadRef>>();

/** All payload references in a document by id, in order; each document is searched only once. */
export function payloadRefs(doc: Doc): ReadonlyMap<string, PayloadRef> {
  const known = isContainer(doc) ? refsByDocument.get(doc) : undefined;
  if (known) return known;
  const refs = new Map<string, PayloadRef>();
  visit(doc, refs);
  if (isContainer(doc)) refsByDocument.set(doc, refs);
  return refs;
}

function visit(doc: Doc, refs: Map<string, PayloadRef>): void {
  if (!isContainer(doc) || plainHeight(doc) > 0) return;
  const parts = specialOf(doc);
  if (!isList(parts)) {
    visitChildren(doc, refs);
    return;
  }
  if (parts[0] === 'payload') {
    const ref = readPayloadRef(parts);
    if (!refs.has(ref.id)) refs.set(ref.id, ref);
    return;
  }
  const verbatim = verbatimPart(parts[0]);
  for (const [i, part] of parts.entries()) {
    if (i === verbatim && isContainer(part)) visitChildren(part, refs);
    else visit(part, refs);
  }
}

function visitChildren(doc: Doc & object, refs: Map<string, PayloadRef>): void {
  for (const child of isList(doc) ? doc : Object.values(doc)) visit(child, refs);
}
