import { type Doc, isFields, isList } from '../../checkpoints/engine.ts';

/** The JSON of a document with sorted object keys: equal documents have equal text. */
export function canonicalJson(doc: Doc): string {
  if (isList(doc)) return `[${doc.map(canonicalJson).join(',')}]`;
  if (!isFields(doc)) return JSON.stringify(doc);
  const keys = Object.keys(doc).toSorted();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalJson(doc[key] as Doc)}`).join(',')}}`;
}
