import { settlePending } from './determinism.ts';

interface ScheduledEvent {
  readonly at: number;
  readonly order: number;
  readonly run: () => void | Promise<void>;
}

/** Virtual time with a queue of events; each event completes before the next one starts. */
export class Timeline {
  now: number;
  eventCount = 0;
  readonly #heap: ScheduledEvent[] = [];
  #order = 0;

  constructor(now: number) {
    this.now = now;
  }

  after(milliseconds: number, run: () => void | Promise<void>): void {
    this.#add({ at: this.now + Math.max(0, milliseconds), order: this.#order++, run });
  }

  /** The time of the next event; undefined if the queue is empty. */
  get next(): number | undefined {
    return this.#heap[0]?.at;
  }

  /** Runs the next event and everything that follows from it immediately. */
  async step(): Promise<void> {
    const event = this.#take();
    if (!event) return;
    this.now = Math.max(this.now, event.at);
    this.eventCount += 1;
    await event.run();
    await settlePending();
  }

  #add(event: ScheduledEvent): void {
    const heap = this.#heap;
    let index = heap.push(event) - 1;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = heap[above];
      if (!parent || !isBefore(event, parent)) break;
      heap[index] = parent;
      index = above;
    }
    heap[index] = event;
  }

  #take(): ScheduledEvent | undefined {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (!first || !last || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let below = 2 * index + 1;
      let child = heap[below];
      const other = heap[below + 1];
      if (child && other && isBefore(other, child)) {
        child = other;
        below += 1;
      }
      if (!child || !isBefore(child, last)) break;
      heap[index] = child;
      index = below;
    }
    heap[index] = last;
    return first;
  }
}

const isBefore = (a: ScheduledEvent, b: ScheduledEvent): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);
