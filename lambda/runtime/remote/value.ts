import {
  type Doc,
  decode,
  type LoadedCheckpoint,
  loadCheckpoint,
  type PayloadRef,
  payloadRefs,
  type RunContext,
  storedPayload,
} from '../../checkpoints/engine.ts';
import { isWaitstateError, WaitstateError } from '../../core/errors.ts';

/**
 * Decodes a document of a remote agent: JSON in which `$` nodes stand for values that JSON lacks. It may reference only
 * payloads that its run already references.
 */
export const decodeRemoteValue = (at: RunContext, argument: string, doc: unknown): Promise<unknown> =>
  decodeWithPayloads(
    at,
    argument,
    doc,
    async () => at.cache.fresh(at.partition, at.now()) ?? (await loadCheckpoint(at)),
  );

/** Decodes a document with the payloads of one checkpoint, which is loaded only if the document references payloads. */
export async function decodeWithPayloads(
  at: RunContext,
  argument: string,
  doc: unknown,
  load: () => Promise<Pick<LoadedCheckpoint, 'root' | 'cipher'>>,
): Promise<unknown> {
  let hasPayloads = false;
  const value = decodeDocument(argument, doc, at, () => {
    hasPayloads = true;
    return null;
  });
  if (!hasPayloads) return value;
  const { root, cipher } = await load();
  const knownRefs = payloadRefs(root);
  return decodeDocument(argument, doc, at, ({ id }) => {
    const ref = knownRefs.get(id);
    if (ref) return storedPayload({ store: at.payloads, partition: at.partition, cipher, ref });
    throw new WaitstateError(
      'INVALID_INPUT',
      `\`${argument}\` references a payload that run "${at.run}" does not have. Only payloads that were loaded from the run can be referenced.`,
    );
  });
}

function decodeDocument(argument: string, doc: unknown, { types }: RunContext, payload: (ref: PayloadRef) => unknown) {
  try {
    return decode(doc as Doc, { types, payload });
  } catch (error) {
    if (!isWaitstateError(error, 'DAMAGED')) throw error;
    const reason = error.message.replace('The stored document is damaged: ', '');
    throw new WaitstateError(
      'INVALID_INPUT',
      `\`${argument}\` is not a valid document: ${reason} An object with the single key "$" stands for a value that JSON lacks; write your own object with a key "$" as {"$":["object",{…}]}.`,
      { cause: error },
    );
  }
}
