import { isDeepStrictEqual } from 'node:util';
import type { Checkpoint } from '../../../lambda/checkpoints/checkpoint.ts';
import type { CheckpointStore } from '../../../lambda/checkpoints/checkpoint-store.ts';
import { isWaitstateError } from '../../../lambda/core/errors.ts';
import { ExpectedError, type Model, type Version } from './model.ts';
import { plainOf } from './values.ts';
import { type ByStore, seenBy, storeOf, type World } from './world.ts';

type Outcome<T> = { readonly value: T } | { readonly error: unknown };

export async function outcome<T>(run: () => T | Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await run() };
  } catch (error) {
    return { error };
  }
}

/** Both give the same checkpoint, or both refuse for the same reason. */
export async function same(
  _: Model,
  world: World,
  by: ByStore,
  inModel: () => Version,
  inStore: (store: CheckpointStore) => Promise<Checkpoint>,
): Promise<Checkpoint | undefined> {
  const said = await outcome(inModel);
  const did = await outcome(() => inStore(storeOf(world, by.store)));
  if ('error' in said || 'error' in did) {
    sameErrors(said, did);
    return undefined;
  }
  await sameCheckpoint(said.value, did.value);
  return did.value;
}

/** The same; the caller has then seen that checkpoint of the run. */
export const sameAndSeen: typeof same = async (model, world, by, inModel, inStore) => {
  const got = await same(model, world, by, inModel, inStore);
  if (got) seenBy(world, by.store).set(by.run, { of: model.open(by.run), version: got.version, hash: got.hash });
  return got;
};

export function sameErrors(said: Outcome<unknown>, did: Outcome<unknown>): void {
  if ('error' in said && !(said.error instanceof ExpectedError)) throw said.error;
  if ('error' in did && !isWaitstateError(did.error)) throw did.error;
  const code = 'error' in did && isWaitstateError(did.error) ? did.error.code : undefined;
  const refused = 'error' in said && said.error instanceof ExpectedError ? said.error : undefined;
  if (code === refused?.code || (code && refused?.or.includes(code))) return;
  throw new Error(`The model says ${refused?.code ?? 'done'}, the store says ${code ?? 'done'}.`, {
    cause: 'error' in did ? did.error : undefined,
  });
}

/** A checkpoint of a store is the model's version in all that a caller sees. */
export async function sameCheckpoint(said: Version, did: Checkpoint): Promise<void> {
  const { shown: _, before: __, undone: ___, writeId, pruned: ____, ...visible } = said;
  expectSame(`checkpoint ${said.version}`, visible, {
    ...{ version: did.version, kind: did.kind, status: did.status, step: did.step, stepNumber: did.stepNumber },
    ...{ name: did.name, labels: did.labels, restored: did.restored, parent: did.parent, time: did.savedAt.getTime() },
    ...{ state: await plainOf(did.state), toolResults: await plainOf(did.toolResults), model: did.model },
  });
  if (writeId !== undefined) expectSame('the write id', writeId, did.writeId);
}

export function expectSame(what: string, said: unknown, did: unknown): void {
  if (isDeepStrictEqual(said, did)) return;
  const show = (value: unknown) => JSON.stringify(value)?.slice(0, 2000);
  throw new Error(`The model says of ${what}: ${show(said)}\nThe store says: ${show(did)}`);
}
