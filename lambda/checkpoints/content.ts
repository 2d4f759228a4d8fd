import { HoldpointError } from '../core/errors.ts';
import type { Root } from './chain.ts';
import type { Checkpoint, ModelParameters } from './checkpoint.ts';
import type { RunContext } from './context.ts';
import { decode } from './document/decode.ts';
import { adopt, type Doc } from './document/document.ts';
import { encode } from './document/encode.ts';
import { parse } from './document/parse.ts';
import { apply, type Op } from './document/patch.ts';
import { type PayloadRef, payloadDoc, payloadRefs } from './document/payloads.ts';
import { Payload } from './payload.ts';
import { summaryOf } from './records.ts';
import type { SchemaVersion } from './schema.ts';
import type { Sealing } from './sealing.ts';
import type { Tail } from './tail.ts';

/** The live values that go into a checkpoint; what is absent stays as it was. */
export interface Values {
  readonly state?: unknown;
  readonly toolResults?: Readonly<Record<string, unknown>> | undefined;
  /** Takes these results out, or all that were there before. */
  readonly forgetToolResults?: true | readonly string[] | undefined;
}

export const NO_CONTENT = parse('{"state":{"$":"undefined"},"results":{}}') as Root;

/** Turns live values into documents on top of those of the predecessor. Payloads that are new to the run are stored first. */
export async function encodeValues(at: RunContext, sealing: Sealing, base: Root, values: Values): Promise<Root> {
  const live = new Map(payloadRefs(base).map((ref) => [ref.id, ref]));
  const ids = new Set(live.keys());
  for (;;) {
    const pending = new Set<Payload>();
    const payload = (value: unknown): Doc | undefined => {
      if (!(value instanceof Payload)) return undefined;
      const ref = value.pointerIn(at, sealing, ids);
      if (ref) return payloadDoc(ref);
      pending.add(value);
      return null;
    };
    const encoded = (value: unknown, root: string, before: Doc | undefined): Doc =>
      encode(value, { root, types: at.types, payload, ...(before !== undefined && { base: before }) });
    const state = 'state' in values ? encoded(values.state, 'state', base.state) : base.state;
    const results = encodeResults(base.results, values, encoded);
    if (pending.size === 0) {
      return state === base.state && results === base.results ? base : (adopt({ state, results }) as Root);
    }
    // One after the other: equal contents are then stored once, and memory holds the pieces of one.
    for (const value of pending) {
      await value.place(at, sealing, live);
      const ref = value.pointerIn(at, sealing, ids);
      if (ref) live.set(ref.id, ref);
    }
  }
}

function encodeResults(
  base: Root['results'],
  values: Values,
  encoded: (value: unknown, root: string, before: Doc | undefined) => Doc,
): Root['results'] {
  const { toolResults = {}, forgetToolResults = [] } = values;
  const forgotten = forgetToolResults === true ? Object.keys(base) : forgetToolResults.map(keyOfCall);
  const ops: Op[] = forgotten.filter((key) => Object.hasOwn(base, key)).map((key): Op => [[key]]);
  for (const [id, result] of Object.entries(toolResults)) {
    const key = keyOfCall(id);
    const before = Object.hasOwn(base, key) ? base[key] : undefined;
    const doc = encoded(result, `toolResults[${JSON.stringify(id)}]`, before);
    if (doc !== before || forgotten.includes(key)) ops.push([[key], doc]);
  }
  return ops.length === 0 ? base : (apply(base, ops) as Root['results']);
}

// In a document the key `$` has a meaning of its own.
const keyOfCall = (id: string): string => (id.startsWith('$') ? `$${id}` : id);

/** The tool results of a checkpoint by call id. */
export function decodeResults(at: RunContext, tail: Tail): Readonly<Record<string, unknown>> {
  const results = decodeValue(at, tail, tail.root.results) as Readonly<Record<string, unknown>>;
  const entries = Object.entries(results);
  if (!entries.some(([key]) => key.startsWith('$'))) return results;
  return Object.freeze(Object.fromEntries(entries.map(([key, result]) => [key.replace(/^\$/, ''), result])));
}

export const encodeModel = (at: RunContext, model: ModelParameters | undefined): Doc | undefined =>
  model === undefined ? undefined : encode(model, { root: 'model', types: at.types });

/** A document as live values; its payloads are fetched only when read. */
export function decodeValue(at: RunContext, tail: Pick<Tail, 'sealing'>, doc: Doc, mutable = false): unknown {
  const payload = (ref: PayloadRef): Payload =>
    new Payload({
      home: { store: at.payloads, partition: at.partition, sealing: tail.sealing, ref },
      ...(ref.type !== undefined && { type: ref.type }),
      ...(ref.digest !== undefined && { digest: ref.digest }),
    });
  return decode(doc, { types: at.types, payload, mutable });
}

/** The state of a checkpoint in the shape that this code knows, and the schema version that it then has. */
export function currentState(at: RunContext, tail: Tail): { state: unknown; schema: SchemaVersion | undefined } {
  const { v } = tail.record.meta;
  if (!at.ladder || v === at.ladder.current) return { state: decodeValue(at, tail, tail.root.state), schema: v };
  at.ladder.check(at.run, v);
  const copy = decodeValue(at, tail, tail.root.state, true);
  return { state: at.ladder.migrate(at.run, copy, v), schema: at.ladder.current };
}

/** Refuses to put a state of this code on one whose shape it does not know. */
export function checkSchema(at: RunContext, tail: Tail): SchemaVersion | undefined {
  const { v } = tail.record.meta;
  if (at.ladder) {
    at.ladder.check(at.run, v);
    return at.ladder.current;
  }
  if (v === undefined) return undefined;
  throw new HoldpointError(
    'SCHEMA_TOO_NEW',
    `The state of run "${at.run}" has schema version ${v}, and this store has no schema: it does not know that shape. Open the store with the \`schema\` of the agent.`,
    { scope: 'run' },
  );
}

export function checkpointOf<State>(at: RunContext, tail: Tail): Checkpoint<State> {
  return {
    ...summaryOf(at.run, tail.record),
    state: currentState(at, tail).state as State,
    toolResults: decodeResults(at, tail),
    ...(tail.model !== undefined && { model: decodeValue(at, tail, tail.model) as ModelParameters }),
  };
}
