import { WaitstateError } from '../core/errors.ts';
import type { Checkpoint, ModelParameters } from './checkpoint.ts';
import type { RunContext } from './context.ts';
import { decode } from './document/decode.ts';
import { adopt, type Doc, plainHeight, specialOf } from './document/document.ts';
import { encode } from './document/encode.ts';
import type { Op } from './document/op.ts';
import { parse } from './document/parse.ts';
import { apply } from './document/patch.ts';
import { type PayloadRef, payloadDoc, payloadRefs } from './document/payloads.ts';
import type { RunCipher } from './encryption/run-cipher.ts';
import { namingDamagedCheckpoint } from './format/chain.ts';
import { toCheckpointSummary } from './format/records.ts';
import type { Root } from './format/root.ts';
import type { SchemaVersion } from './format/schema.ts';
import type { LoadedCheckpoint } from './loaded-checkpoint.ts';
import { findPayloadRef, isPayload, type Payload, storedPayload, storePayload } from './payload.ts';

/** The values to store in a checkpoint; absent ones stay unchanged. */
export interface ContentValues {
  readonly state?: unknown;
  readonly toolResults?: Readonly<Record<string, unknown>> | undefined;
  /** Removes these results, or all earlier ones. */
  readonly forgetToolResults?: true | readonly string[] | undefined;
}

/** The content of a run before its first checkpoint. */
export const EMPTY_CONTENT = parse('{"state":{"$":"undefined"},"results":{}}') as Root;

/** Encodes values on top of the predecessor's content. Payloads that are new to the run are stored first. */
export async function encodeValues(
  at: RunContext,
  cipher: RunCipher,
  base: Root,
  values: ContentValues,
): Promise<Root> {
  const known = new Map(payloadRefs(base));
  for (;;) {
    const pending = new Set<Payload>();
    const payload = (value: unknown): Doc | undefined => {
      if (!isPayload(value)) return undefined;
      const ref = findPayloadRef(value, at, known);
      if (!ref) pending.add(value);
      return ref ? payloadDoc(ref) : null;
    };
    const encodeValue = (value: unknown, root: string, before: Doc | undefined): Doc =>
      encode(value, { root, types: at.types, payload, base: before });
    const state = 'state' in values ? encodeValue(values.state, 'state', base.state) : base.state;
    const results = encodeResults(base.results, values, encodeValue);
    if (pending.size === 0) {
      return state === base.state && results === base.results ? base : (adopt({ state, results }) as Root);
    }
    // Sequentially, so that equal contents are stored once and only one payload is in memory at a time.
    for (const value of pending) {
      const ref = await storePayload(value, at, cipher, known);
      known.set(ref.id, ref);
    }
  }
}

function encodeResults(
  base: Root['results'],
  values: ContentValues,
  encodeValue: (value: unknown, root: string, before: Doc | undefined) => Doc,
): Root['results'] {
  const { toolResults = {}, forgetToolResults = [] } = values;
  const ops: Op[] = [];
  let kept = base;
  if (forgetToolResults === true) kept = EMPTY_CONTENT.results;
  else {
    const locations = [...new Set(forgetToolResults)].map(resultLocation);
    const there = locations.filter(({ group, key }) => resultAt(base, group, key) !== undefined);
    for (const { group, key } of there) ops.push([[group, key]]);
    if (ops.length > 0) kept = apply(base, ops.splice(0)) as Root['results'];
  }
  for (const [id, result] of Object.entries(toolResults)) {
    const { group, key } = resultLocation(id);
    const doc = encodeValue(result, `toolResults[${JSON.stringify(id)}]`, resultAt(base, group, key));
    if (doc === resultAt(kept, group, key)) continue;
    if (!Object.hasOwn(kept, group)) kept = apply(kept, [[[group], {}]]) as Root['results'];
    ops.push([[group, key], doc]);
  }
  return ops.length === 0 ? kept : (apply(kept, ops) as Root['results']);
}

type Results = Readonly<Record<string, unknown>>;

const RESULT_GROUPS = 64;

/**
 * The location of a tool result. Results are in groups, so that adding one to thousands copies only a few dozen. Keys
 * that start with `$` are prefixed, because the key `$` has a special meaning in a document.
 */
function resultLocation(id: string): { readonly group: string; readonly key: string } {
  let hash = 0;
  for (let i = 0; i < id.length; i++) hash = (hash * 31 + id.charCodeAt(i)) | 0;
  return { group: ((hash >>> 0) % RESULT_GROUPS).toString(36), key: id.startsWith('$') ? `$${id}` : id };
}

const resultAt = (results: Root['results'], group: string, key: string): Doc | undefined => {
  const there = Object.hasOwn(results, group) ? results[group] : undefined;
  return there && Object.hasOwn(there, key) ? there[key] : undefined;
};

/** The tool results of a checkpoint by call id. */
export function decodeResults(at: RunContext, loaded: LoadedCheckpoint): Results {
  const groups = Object.values(decodeDocument(at, loaded, loaded.root.results) as Record<string, Results>);
  const entries = groups.flatMap((group) => Object.entries(group));
  return Object.freeze(Object.fromEntries(entries.map(([key, result]) => [key.replace(/^\$/, ''), result])));
}

/** One tool result of a checkpoint. */
export function decodeResult(at: RunContext, loaded: LoadedCheckpoint, id: string): unknown {
  const { group, key } = resultLocation(id);
  const doc = resultAt(loaded.root.results, group, key);
  return doc === undefined ? undefined : decodeDocument(at, loaded, doc);
}

/** Encodes model parameters. */
export const encodeModel = (at: RunContext, model: ModelParameters | undefined): Doc | undefined =>
  model === undefined ? undefined : encode(model, { root: 'model', types: at.types });

/** The state of a checkpoint as it was saved, without migrations. */
export const savedState = (at: RunContext, loaded: LoadedCheckpoint): unknown =>
  decodeDocument(at, loaded, loaded.root.state);

function decodeDocument(at: RunContext, loaded: LoadedCheckpoint, doc: Doc, mutable = false): unknown {
  return namingDamagedCheckpoint(loaded.record, () => decode(doc, { ...decodeOptions(at, loaded), mutable }));
}

/** The options for decoding documents of a checkpoint. Payloads are fetched only when they are read. */
export const decodeOptions = (at: RunContext, { cipher }: Pick<LoadedCheckpoint, 'cipher'>) => ({
  types: at.types,
  payload: (ref: PayloadRef) => storedPayload({ store: at.payloads, partition: at.partition, cipher, ref }),
});

/** The state of a checkpoint, migrated to the current schema, and the schema version that it then has. */
export function currentState(
  at: RunContext,
  loaded: LoadedCheckpoint,
): { state: unknown; schema: SchemaVersion | undefined } {
  const { schema } = loaded.record.meta;
  if (!at.migrator || schema === at.migrator.current || hasNoState(loaded))
    return { state: savedState(at, loaded), schema };
  at.migrator.check(at.run, schema);
  const copy = decodeDocument(at, loaded, loaded.root.state, true);
  return { state: at.migrator.migrate(at.run, copy, schema), schema: at.migrator.current };
}

/** Whether the checkpoint has no state yet, so that there is nothing to migrate. */
export const hasNoState = ({ root, record }: LoadedCheckpoint): boolean =>
  record.meta.schema === undefined && specialOf(root.state) === 'undefined';

/** Rejects a checkpoint whose unchanged content this code cannot read, before that content is written again. */
export function checkReadable(at: RunContext, loaded: LoadedCheckpoint, { state }: ContentValues): void {
  const { root } = loaded;
  // Plain documents need no decoding.
  if (plainHeight(root.results) === 0) decodeResults(at, loaded);
  if (state === undefined) currentState(at, loaded);
}

/** The schema version of the next state; rejects a predecessor whose schema this code does not know. */
export function nextSchemaVersion(at: RunContext, loaded: LoadedCheckpoint): SchemaVersion | undefined {
  const { schema } = loaded.record.meta;
  at.migrator?.check(at.run, schema);
  if (at.migrator || schema === undefined) return at.migrator?.current;
  throw new WaitstateError(
    'SCHEMA_TOO_NEW',
    `The state of run "${at.run}" has schema version ${schema}; this store has no schema. Pass it the \`schema\` of the agent.`,
    { scope: 'run' },
  );
}

/** A checkpoint with its decoded values. Many tool results are decoded only on first access. */
export function toCheckpoint<State>(at: RunContext, loaded: LoadedCheckpoint): Checkpoint<State> {
  const checkpoint = {
    ...toCheckpointSummary(at.run, loaded.record),
    state: currentState(at, loaded).state as State,
    toolResults: NO_RESULTS,
    ...(loaded.model !== undefined && { model: decodeDocument(at, loaded, loaded.model) as ModelParameters }),
  };
  let results: Results | undefined;
  const getResults = (): Results => {
    results ??= decodeResults(at, loaded);
    return results;
  };
  if (Object.keys(loaded.root.results).length < MIN_LAZY_GROUPS) return { ...checkpoint, toolResults: getResults() };
  return Object.defineProperty(checkpoint, 'toolResults', { get: getResults, enumerable: true });
}

// Below this, results are decoded immediately, so that a small checkpoint prints completely.
const MIN_LAZY_GROUPS = 16;
const NO_RESULTS: Results = Object.freeze({});
