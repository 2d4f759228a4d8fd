import { AssertionError } from 'node:assert';
import { inspect, isDeepStrictEqual } from 'node:util';
import { invalidInput } from '../core/invalid-input.ts';
import { hasEnded, type Status } from '../core/status.ts';
import type { RunHandle } from '../runtime/agent/run-handle.ts';

/** What a test expects of a run; fields that it leaves out are not checked. */
export interface RunExpectation<Result = unknown> {
  readonly status?: Status;
  /** The result of a run that has succeeded, compared deeply. */
  readonly result?: Result;
  /** The error of a run that has failed or was cancelled: its code, a part of its message, or a pattern for it. */
  readonly error?: string | RegExp;
  /** The names of the pending approvals, in any order. */
  readonly pendingApprovals?: readonly string[];
}

/** What a run is like. */
interface ActualRun {
  readonly status: Status;
  readonly result?: unknown;
  readonly error?: Error | undefined;
  readonly pendingApprovals: readonly string[];
}

type Field = keyof RunExpectation;

/** Whether a field of a run is as expected. */
const CHECKS: Readonly<Record<Field, (expected: RunExpectation, actual: ActualRun) => boolean>> = {
  status: (expected, actual) => expected.status === actual.status,
  result: (expected, actual) => 'result' in actual && isDeepStrictEqual(expected.result, actual.result),
  error: ({ error = '' }, actual) =>
    actual.error !== undefined &&
    (error instanceof RegExp
      ? error.test(actual.error.message)
      : actual.error.message.includes(error) || Object(actual.error).code === error),
  pendingApprovals: ({ pendingApprovals = [] }, actual) =>
    isDeepStrictEqual(pendingApprovals.toSorted(), actual.pendingApprovals.toSorted()),
};

/** Throws an AssertionError with the run's timeline unless the run is as expected. */
export async function expectRun<Result>(
  run: RunHandle<Result>,
  expected: RunExpectation<Result>,
  timeline: () => Promise<string>,
): Promise<void> {
  const fields = Object.keys(Object(expected)) as readonly Field[];
  if (fields.length === 0 || !fields.every((field) => Object.hasOwn(CHECKS, field)))
    throw invalidInput('`run.expect`', `given some of ${Object.keys(CHECKS).join(', ')}`, expected);
  const actual = await readRun(run);
  const different = fields.filter((field) => !CHECKS[field](expected, actual));
  if (different.length === 0) return;
  const { error, ...rest } = actual;
  const found: { readonly [F in Field]?: unknown } = error ? { ...rest, error: error.message } : rest;
  const pick = (from: { readonly [F in Field]?: unknown }) =>
    Object.fromEntries(different.map((field) => [field, from[field]]));
  const lines = different.map(
    (field) =>
      `  ${field}: expected ${toText(expected[field])}, received ${field in found ? toText(found[field]) : 'none'}`,
  );
  throw new AssertionError({
    message: `Run "${run.id}" is not as expected.\n${lines.join('\n')}\n\n${await timeline()}`,
    actual: pick(found),
    expected: pick(expected),
    operator: 'run.expect',
  });
}

const toText = (value: unknown): string => inspect(value, { depth: 6, breakLength: Infinity });

async function readRun(run: RunHandle): Promise<ActualRun> {
  const status = await run.status();
  const pendingApprovals = (await run.approvals()).map(({ name }) => name);
  if (!hasEnded(status)) return { status, pendingApprovals };
  return run.result().then(
    (result) => ({ status, result, pendingApprovals }),
    (error: Error) => ({ status, error: error.cause instanceof Error ? error.cause : error, pendingApprovals }),
  );
}
