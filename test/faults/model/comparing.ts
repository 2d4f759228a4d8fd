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

/** Expects that both return the same checkpoint, or that both fail with the same code. */
export async function expectSameOutcome(
  _: Model,
  world: World,
  by: ByStore,
  inModel: () => Version,
  inStore: (store: CheckpointStore) => Promise<Checkpoint>,
): Promise<Checkpoint | undefined> {
  const expected = await outcome(inModel);
  const actual = await outcome(() => inStore(storeOf(world, by.store)));
  if ('error' in expected || 'error' in actual) {
    expectSameErrors(expected, actual);
    return undefined;
  }
  await expectSameCheckpoint(expected.value, actual.value);
  return actual.value;
}

/** Expects the same outcome, and remembers the checkpoint as the last one that the caller saw. */
export const expectSameAndRemember: typeof expectSameOutcome = async (model, world, by, inModel, inStore) => {
  const got = await expectSameOutcome(model, world, by, inModel, inStore);
  if (got) seenBy(world, by.store).set(by.run, { of: model.open(by.run), version: got.version, hash: got.hash });
  return got;
};

export function expectSameErrors(expected: Outcome<unknown>, actual: Outcome<unknown>): void {
  if ('error' in expected && !(expected.error instanceof ExpectedError)) throw expected.error;
  if ('error' in actual && !isWaitstateError(actual.error)) throw actual.error;
  const code = 'error' in actual && isWaitstateError(actual.error) ? actual.error.code : undefined;
  const failure = 'error' in expected && expected.error instanceof ExpectedError ? expected.error : undefined;
  if (code === failure?.code || (code && failure?.or.includes(code))) return;
  throw new Error(`Expected ${failure?.code ?? 'success'} as in the model; the store returned ${code ?? 'success'}.`, {
    cause: 'error' in actual ? actual.error : undefined,
  });
}

/** Expects that a checkpoint of a store equals the version of the model in everything that a caller sees. */
export async function expectSameCheckpoint(expected: Version, actual: Checkpoint): Promise<void> {
  const { shown: _, before: __, undone: ___, writeId, pruned: ____, ...visible } = expected;
  expectSame(`checkpoint ${expected.version}`, visible, {
    ...{
      version: actual.version,
      kind: actual.kind,
      status: actual.status,
      step: actual.step,
      stepNumber: actual.stepNumber,
    },
    ...{
      name: actual.name,
      labels: actual.labels,
      restored: actual.restored,
      parent: actual.parent,
      time: actual.savedAt.getTime(),
    },
    ...{ state: await plainOf(actual.state), toolResults: await plainOf(actual.toolResults), model: actual.model },
  });
  if (writeId !== undefined) expectSame('the write id', writeId, actual.writeId);
}

export function expectSame(what: string, expected: unknown, actual: unknown): void {
  if (isDeepStrictEqual(expected, actual)) return;
  const show = (value: unknown) => JSON.stringify(value)?.slice(0, 2000);
  throw new Error(`Expected ${what}, as in the model: ${show(expected)}\nFound in the store: ${show(actual)}`);
}
