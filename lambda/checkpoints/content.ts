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
import type { Sealing } from './encryption/run-cipher.ts';
import { fitting, type Root } from './format/chain.ts';
import { summaryOf } from './format/records.ts';
import type { SchemaVersion } from './format/schema.ts';
import type { Opened } from './load.ts';
import { isPayload, type Payload, placePayload, pointerTo, storedPayload } from './payload.ts';

/** The live values that go into a checkpoint; what is absent stays as it was. */
export interface Values {
  readonly state?: unknown;
  readonly toolResults?: Readonly<Record<string, unknown>> | undefined;
  /** Takes these results out, or all that were there before. */
  readonly forgetToolResults?: true | readonly string[] | undefined;
}

/** The content of a run before its first checkpoint. */
export const NO_CONTENT = parse('{"state":{"$":"undefined"},"results":{}}') as Root;

/**
 * Turns live values into documents on top of those of the predecessor. Payloads that are new to the run are stored
 * first.
 */
export async function encodeValues(at: RunContext, sealing: Sealing, base: Root, values: Values): Promise<Root> {
  const known = new Map(payloadRefs(base));
  for (;;) {
    const pending = new Set<Payload>();
    const payload = (value: unknown): Doc | undefined => {
      if (!isPayload(value)) return undefined;
      const ref = pointerTo(value, at, known);
      if (!ref) pending.add(value);
      return ref ? payloadDoc(ref) : null;
    };
    const encoded = (value: unknown, root: string, before: Doc | undefined): Doc =>
      encode(value, { root, types: at.types, payload, base: before });
    const state = 'state' in values ? encoded(values.state, 'state', base.state) : base.state;
    const results = encodeResults(base.results, values, encoded);
    if (pending.size === 0) {
      return state === base.state && results === base.results ? base : (adopt({ state, results }) as Root);
    }
    // One after the other: equal contents are then stored once, and memory holds the pieces of one.
    for (const value of pending) {
      const ref = await placePayload(value, at, sealing, known);
      known.set(ref.id, ref);
    }
  }
}

function encodeResults(
  base: Root['results'],
  values: Values,
  encoded: (value: unknown, root: string, before: Doc | undefined) => Doc,
): Root['results'] {
  const { toolResults = {}, forgetToolResults = [] } = values;
  const ops: Op[] = [];
  let kept = base;
  if (forgetToolResults === true) kept = NO_CONTENT.results;
  else {
    const places = [...new Set(forgetToolResults)].map(placeOf);
    const there = places.filter(({ group, key }) => resultAt(base, group, key) !== undefined);
    for (const { group, key } of there) ops.push([[group, key]]);
    if (ops.length > 0) kept = apply(base, ops.splice(0)) as Root['results'];
  }
  for (const [id, result] of Object.entries(toolResults)) {
    const { group, key } = placeOf(id);
    const doc = encoded(result, `toolResults[${JSON.stringify(id)}]`, resultAt(base, group, key));
    if (doc === resultAt(kept, group, key)) continue;
    if (!Object.hasOwn(kept, group)) kept = apply(kept, [[[group], {}]]) as Root['results'];
    ops.push([[group, key], doc]);
  }
  return ops.length === 0 ? kept : (apply(kept, ops) as Root['results']);
}

type Results = Readonly<Record<string, unknown>>;

const GROUPS = 64;

/**
 * Where the result of a call is kept. In groups, so that adding one to thousands copies a few dozen; and in a document
 * the key `$` has a meaning of its own.
 */
function placeOf(id: string): { readonly group: string; readonly key: string } {
  let hash = 0;
  for (let i = 0; i < id.length; i++) hash = (hash * 31 + id.charCodeAt(i)) | 0;
  return { group: ((hash >>> 0) % GROUPS).toString(36), key: id.startsWith('$') ? `$${id}` : id };
}

const resultAt = (results: Root['results'], group: string, key: string): Doc | undefined => {
  const there = Object.hasOwn(results, group) ? results[group] : undefined;
  return there && Object.hasOwn(there, key) ? there[key] : undefined;
};

/** The tool results of a checkpoint by call id. */
export function decodeResults(at: RunContext, opened: Opened): Results {
  const groups = Object.values(decoded(at, opened, opened.root.results) as Record<string, Results>);
  const entries = groups.flatMap((group) => Object.entries(group));
  return Object.freeze(Object.fromEntries(entries.map(([key, result]) => [key.replace(/^\$/, ''), result])));
}

/** One tool result of a checkpoint. */
export function decodeResult(at: RunContext, opened: Opened, id: string): unknown {
  const { group, key } = placeOf(id);
  const doc = resultAt(opened.root.results, group, key);
  return doc === undefined ? undefined : decoded(at, opened, doc);
}

/** The document of a model's parameters. */
export const encodeModel = (at: RunContext, model: ModelParameters | undefined): Doc | undefined =>
  model === undefined ? undefined : encode(model, { root: 'model', types: at.types });

/** The state of a checkpoint as it was saved, whatever its schema. */
export const savedState = (at: RunContext, opened: Opened): unknown => decoded(at, opened, opened.root.state);

function decoded(at: RunContext, opened: Opened, doc: Doc, mutable = false): unknown {
  return fitting(opened.record, () => decode(doc, { ...decoding(at, opened), mutable }));
}

/** How documents of a checkpoint become live. Payloads are fetched only when they are read. */
export const decoding = (at: RunContext, { sealing }: Pick<Opened, 'sealing'>) => ({
  types: at.types,
  payload: (ref: PayloadRef) => storedPayload({ store: at.payloads, partition: at.partition, sealing, ref }),
});

/** The state of a checkpoint in the shape that this code knows, and the schema version that it then has. */
export function currentState(at: RunContext, opened: Opened): { state: unknown; schema: SchemaVersion | undefined } {
  const { schema } = opened.record.meta;
  if (!at.ladder || schema === at.ladder.current || isBlank(opened)) return { state: savedState(at, opened), schema };
  at.ladder.check(at.run, schema);
  const copy = decoded(at, opened, opened.root.state, true);
  return { state: at.ladder.migrate(at.run, copy, schema), schema: at.ladder.current };
}

/** Whether there is no state yet: it has no shape that could be an older one. */
export const isBlank = ({ root, record }: Opened): boolean =>
  record.meta.schema === undefined && specialOf(root.state) === 'undefined';

/** Refuses what stays of a checkpoint and this code cannot read: now, and not when it was written again. */
export function refuseUnreadable(at: RunContext, opened: Opened, { state }: Values): void {
  const { root } = opened;
  // Plain documents are values already.
  if (plainHeight(root.results) === 0) decodeResults(at, opened);
  if (state === undefined) currentState(at, opened);
}

/** The schema version of a state of this code; refuses to put it on one whose shape this code does not know. */
export function schemaAfter(at: RunContext, opened: Opened): SchemaVersion | undefined {
  const { schema } = opened.record.meta;
  at.ladder?.check(at.run, schema);
  if (at.ladder || schema === undefined) return at.ladder?.current;
  throw new WaitstateError(
    'SCHEMA_TOO_NEW',
    `The state of run "${at.run}" has schema version ${schema}, and this store has no schema: it does not know that shape. Open the store with the \`schema\` of the agent.`,
    { scope: 'run' },
  );
}

/**
 * A checkpoint with its live values. The tool results, which may be many, are put together when they are first looked
 * at.
 */
export function checkpointOf<State>(at: RunContext, opened: Opened): Checkpoint<State> {
  const checkpoint = {
    ...summaryOf(at.run, opened.record),
    state: currentState(at, opened).state as State,
    toolResults: NO_RESULTS,
    ...(opened.model !== undefined && { model: decoded(at, opened, opened.model) as ModelParameters }),
  };
  let results: Results | undefined;
  const get = (): Results => {
    results ??= decodeResults(at, opened);
    return results;
  };
  if (Object.keys(opened.root.results).length < FEW) return { ...checkpoint, toolResults: get() };
  return Object.defineProperty(checkpoint, 'toolResults', { get, enumerable: true });
}

// So that a small checkpoint prints as what it is.
const FEW = 16;
const NO_RESULTS: Results = Object.freeze({});
