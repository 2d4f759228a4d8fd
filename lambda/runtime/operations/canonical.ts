import { type Doc, isFields, isList } from '../../checkpoints/document/document.ts';

/** The text of a document with the keys of objects in order: equal for what is equal. */
export function canonical(doc: Doc): string {
  if (isList(doc)) return `[${doc.map(canonical).join(',')}]`;
  if (!isFields(doc)) return JSON.stringify(doc);
  const keys = Object.keys(doc).toSorted();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(doc[key] as Doc)}`).join(',')}}`;
}
