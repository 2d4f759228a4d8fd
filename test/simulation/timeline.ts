import { quiet } from './determinism.ts';

interface Moment {
  readonly at: number;
  readonly order: number;
  readonly run: () => void | Promise<void>;
}

/** Virtual time: what is to happen, one thing after the other, each to its end before the next. */
export class Timeline {
  now: number;
  happened = 0;
  readonly #heap: Moment[] = [];
  #order = 0;

  constructor(now: number) {
    this.now = now;
  }

  after(milliseconds: number, run: () => void | Promise<void>): void {
    this.#add({ at: this.now + Math.max(0, milliseconds), order: this.#order++, run });
  }

  /** When the next thing happens; undefined when nothing does. */
  get next(): number | undefined {
    return this.#heap[0]?.at;
  }

  /** Lets the next thing happen, and all that follows from it at once. */
  async step(): Promise<void> {
    const moment = this.#take();
    if (!moment) return;
    this.now = Math.max(this.now, moment.at);
    this.happened += 1;
    await moment.run();
    await quiet();
  }

  #add(moment: Moment): void {
    const heap = this.#heap;
    let place = heap.push(moment) - 1;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = heap[above];
      if (!parent || !isBefore(moment, parent)) break;
      heap[place] = parent;
      place = above;
    }
    heap[place] = moment;
  }

  #take(): Moment | undefined {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (!first || !last || heap.length === 0) return first;
    let place = 0;
    for (;;) {
      let below = 2 * place + 1;
      let child = heap[below];
      const other = heap[below + 1];
      if (child && other && isBefore(other, child)) {
        child = other;
        below += 1;
      }
      if (!child || !isBefore(child, last)) break;
      heap[place] = child;
      place = below;
    }
    heap[place] = last;
    return first;
  }
}

const isBefore = (a: Moment, b: Moment): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);
