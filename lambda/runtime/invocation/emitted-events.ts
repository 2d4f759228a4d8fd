import { type Doc, encode, type RunContext } from '../../checkpoints/engine.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import { EMITTED_ID, type EmittedEntry, type Entry, entryOf } from '../journal/entries.ts';
import type { Scope } from '../journal/identity.ts';
import type { BatchItem } from './batch.ts';

/** The longest JSON of one event. */
const MAX_EVENT_CHARACTERS = 16 * 1024;
/** How many events one checkpoint can have, and how long their JSON can be together. */
export const MAX_EVENTS = 100;
const MAX_TOTAL_CHARACTERS = 64 * 1024;

/** Events that wait to be recorded: a limited number, each encoded when it is emitted. */
export class EventBuffer {
  #events: Doc[] = [];
  #characters = 0;

  get isEmpty(): boolean {
    return this.#events.length === 0;
  }

  /** Adds an event: `[time, data]`, with the step and its attempt if a step emitted it. */
  add({ types }: RunContext, time: number, data: unknown, ...origin: [] | [step: string, attempt: number]): void {
    const doc: Doc = [time, encode(data, { root: 'event', types }), ...origin];
    const { length } = JSON.stringify(doc);
    if (length > MAX_EVENT_CHARACTERS)
      throw invalidInput(
        'An event',
        `at most ${MAX_EVENT_CHARACTERS} characters as JSON. Keep the rest in the state, or as the result of a step`,
        `${length} characters`,
      );
    this.#characters += length;
    if (this.#events.length >= MAX_EVENTS || this.#characters > MAX_TOTAL_CHARACTERS)
      throw invalidInput(
        'The events between two checkpoints',
        `at most ${MAX_EVENTS} events with ${MAX_TOTAL_CHARACTERS} characters. Emit fewer, or use \`stream\` of a step for output in small pieces`,
        `${this.#events.length + 1} events with ${this.#characters} characters`,
      );
    this.#events.push(doc);
  }

  /** Takes the events out. */
  take(): readonly Doc[] {
    const events = this.#events;
    this.#events = [];
    this.#characters = 0;
    return events;
  }
}

/**
 * The events that `ctx.emit` emitted. They are recorded with the next checkpoint, whatever it records. The journal counts
 * them by scope: a replay skips as many as were recorded, so each event is recorded once.
 */
export class EmittedEvents {
  readonly #at: RunContext;
  readonly #buffer = new EventBuffer();
  readonly #counts: Map<string, number>;

  constructor(at: RunContext, journal: ReadonlyMap<string, Entry>) {
    this.#at = at;
    this.#counts = new Map(Object.entries(entryOf(journal, EMITTED_ID, 'emitted')?.value ?? {}));
  }

  emit(scope: Scope, time: number, data: unknown): void {
    const number = scope.nextEmitted();
    if (number < (this.#counts.get(scope.path) ?? 0)) return;
    this.#buffer.add(this.#at, time, data);
    this.#counts.set(scope.path, number + 1);
  }

  /** A turn has ended and is never replayed, so its events need no count. */
  forget(path: string): void {
    for (const counted of this.#counts.keys()) if (counted.startsWith(path)) this.#counts.delete(counted);
  }

  /** The item that records the events so far; undefined if there are none. */
  take(): BatchItem | undefined {
    if (this.#buffer.isEmpty) return undefined;
    const counted: EmittedEntry = { kind: 'emitted', value: Object.fromEntries(this.#counts) };
    return { events: this.#buffer.take(), entries: [[EMITTED_ID, counted]], allowsSuspend: true };
  }
}
