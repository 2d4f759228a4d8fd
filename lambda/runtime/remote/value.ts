import type { Doc, LoadedCheckpoint, RunContext } from '../../checkpoints/engine.ts';
import { decode, loadCheckpoint, type PayloadRef, payloadRefs, storedPayload } from '../../checkpoints/engine.ts';
import { isWaitstateError, WaitstateError } from '../../core/errors.ts';

/**
 * The value of a document that an agent elsewhere made: JSON in which `$` nodes stand for what JSON lacks. It can point only
 * at payloads that its run points at already.
 */
export const decodeRemoteValue = (at: RunContext, argument: string, doc: unknown): Promise<unknown> =>
  decodeWithPayloads(
    at,
    argument,
    doc,
    async () => at.cache.fresh(at.partition, at.now()) ?? (await loadCheckpoint(at)),
  );

/** The same with the payloads of one checkpoint, which is opened only if the document has any. */
export async function decodeWithPayloads(
  at: RunContext,
  argument: string,
  doc: unknown,
  opening: () => Promise<Pick<LoadedCheckpoint, 'root' | 'cipher'>>,
): Promise<unknown> {
  let pointsAtPayloads = false;
  const value = decoded(argument, doc, at, () => {
    pointsAtPayloads = true;
    return null;
  });
  if (!pointsAtPayloads) return value;
  const { root, cipher } = await opening();
  const known = payloadRefs(root);
  return decoded(argument, doc, at, ({ id }) => {
    const ref = known.get(id);
    if (ref) return storedPayload({ store: at.payloads, partition: at.partition, cipher, ref });
    throw new WaitstateError(
      'INVALID_INPUT',
      `\`${argument}\` points at a payload that run "${at.run}" does not have. Only what was loaded from it can be kept.`,
    );
  });
}

function decoded(argument: string, doc: unknown, { types }: RunContext, payload: (ref: PayloadRef) => unknown) {
  try {
    return decode(doc as Doc, { types, payload });
  } catch (error) {
    if (!isWaitstateError(error, 'DAMAGED')) throw error;
    const why = error.message.replace('The stored document is damaged: ', '');
    throw new WaitstateError(
      'INVALID_INPUT',
      `\`${argument}\` is not a document: ${why} An object with the single key "$" stands for what JSON lacks; one of your own with a key "$" is {"$":["object",{…}]}.`,
      { cause: error },
    );
  }
}
