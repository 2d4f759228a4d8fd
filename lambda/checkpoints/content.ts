import { HoldpointError } from '../core/errors.ts';
import { fitting, type Root } from './chain.ts';
import type { Checkpoint, ModelParameters } from './checkpoint.ts';
import type { RunContext } from './context.ts';
import { type Decode, decode, decodeWithin } from './document/decode.ts';
import { adopt, type Doc } from './document/document.ts';
import { encode } from './document/encode.ts';
import type { Op } from './document/op.ts';
import { parse } from './document/parse.ts';
import { apply } from './document/patch.ts';
import { type PayloadRef, payloadDoc, payloadRefs } from './document/payloads.ts';
import type { Opened } from './open.ts';
import { isPayload, type Payload, placePayload, pointerTo, storedPayload } from './payload.ts';
import { summaryOf } from './records.ts';
import type { SchemaVersion } from './schema.ts';
import type { Sealing } from './sealing.ts';

/** The live values that go into a checkpoint; what is absent stays as it was. */
export interface Values {
  readonly state?: unknown;
  readonly toolResults?: Readonly<Record<string, unknown>> | undefined;
  /** Takes these results out, or all that were there before. */
  readonly forgetToolResults?: true | readonly string[] | undefined;
}

/** The content of a run before its first checkpoint. */
export const NO_CONTENT = parse('{"state":{"$":"undefined"},"results":{}}') as Root;

/** Turns live values into documents on top of those of the predecessor. Payloads that are new to the run are stored first. */
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
  const forgotten = new Set(forgetToolResults === true ? Object.keys(base) : forgetToolResults.map(keyOfCall));
  const ops: Op[] = [...forgotten].filter((key) => Object.hasOwn(base, key)).map((key): Op => [[key]]);
  for (const [id, result] of Object.entries(toolResults)) {
    const key = keyOfCall(id);
    const before = Object.hasOwn(base, key) ? base[key] : undefined;
    const doc = encoded(result, `toolResults[${JSON.stringify(id)}]`, before);
    if (doc !== before || forgotten.has(key)) ops.push([[key], doc]);
  }
  return ops.length === 0 ? base : (apply(base, ops) as Root['results']);
}

// In a document the key `$` has a meaning of its own.
const keyOfCall = (id: string): string => (id.startsWith('$') ? `$${id}` : id);
const callOfKey = (key: string): string => key.replace(/^\$/, '');

/** The document of a model's parameters. */
export const encodeModel = (at: RunContext, model: ModelParameters | undefined): Doc | undefined =>
  model === undefined ? undefined : encode(model, { root: 'model', types: at.types });

/** The tool results of a checkpoint by call id. */
export function decodeResults(at: RunContext, opened: Opened): Readonly<Record<string, unknown>> {
  const results = decoded(at, opened, opened.root.results) as Readonly<Record<string, unknown>>;
  if (!Object.keys(results).some((key) => key.startsWith('$'))) return results;
  return Object.freeze(Object.fromEntries(Object.entries(results).map(([key, result]) => [callOfKey(key), result])));
}

/** The state of a checkpoint as it was saved, whatever its schema. */
export const savedState = (at: RunContext, opened: Opened): unknown => decoded(at, opened, opened.root.state);

/** What decodes parts of a state: an object that occurs in several places is found wherever it is asked for. */
export const partsOfState = (at: RunContext, opened: Opened): Decode =>
  fitting(opened.record, () => decodeWithin(opened.root.state, decoding(at, opened)));

function decoded(at: RunContext, opened: Opened, doc: Doc, mutable = false): unknown {
  return fitting(opened.record, () => decode(doc, { ...decoding(at, opened), mutable }));
}

/** Payloads are fetched only when they are read. */
const decoding = (at: RunContext, { sealing }: Opened) => ({
  types: at.types,
  payload: (ref: PayloadRef) => storedPayload({ store: at.payloads, partition: at.partition, sealing, ref }),
});

/** The state of a checkpoint in the shape that this code knows, and the schema version that it then has. */
export function currentState(at: RunContext, opened: Opened): { state: unknown; schema: SchemaVersion | undefined } {
  const { schema } = opened.record.meta;
  if (!at.ladder || schema === at.ladder.current) return { state: savedState(at, opened), schema };
  at.ladder.check(at.run, schema);
  const copy = decoded(at, opened, opened.root.state, true);
  return { state: at.ladder.migrate(at.run, copy, schema), schema: at.ladder.current };
}

/** The schema version of a state of this code; refuses to put it on one whose shape this code does not know. */
export function schemaAfter(at: RunContext, opened: Opened): SchemaVersion | undefined {
  const { schema } = opened.record.meta;
  at.ladder?.check(at.run, schema);
  if (at.ladder || schema === undefined) return at.ladder?.current;
  throw new HoldpointError(
    'SCHEMA_TOO_NEW',
    `The state of run "${at.run}" has schema version ${schema}, and this store has no schema: it does not know that shape. Open the store with the \`schema\` of the agent.`,
    { scope: 'run' },
  );
}

/** A checkpoint with its live values. */
export function checkpointOf<State>(at: RunContext, opened: Opened): Checkpoint<State> {
  return {
    ...summaryOf(at.run, opened.record),
    state: currentState(at, opened).state as State,
    toolResults: decodeResults(at, opened),
    ...(opened.model !== undefined && { model: decoded(at, opened, opened.model) as ModelParameters }),
  };
}
