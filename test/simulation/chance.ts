import { randomFrom } from '../faults/seeded.ts';

/** The random choices of a seed; the same seed gives the same choices. */
export class Chance {
  readonly next: () => number;

  constructor(seed: number) {
    this.next = randomFrom(Math.imul(seed + 1, 0x9e3779b1));
  }

  happens(probability: number): boolean {
    return this.next() < probability;
  }

  /** An integer from `min` to `max`, both included. */
  between(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  one<T>(list: readonly [T, ...T[]]): T {
    return list[Math.floor(this.next() * list.length)] ?? list[0];
  }

  /** One of several values, chosen by weight. */
  weighted<T>(list: readonly (readonly [weight: number, value: T])[]): T {
    const sum = list.reduce((total, [weight]) => total + weight, 0);
    let left = this.next() * sum;
    for (const [weight, value] of list) {
      left -= weight;
      if (left < 0) return value;
    }
    return (list.at(-1) as readonly [number, T])[1];
  }

  /** The list in random order. */
  shuffled<T>(list: readonly T[]): T[] {
    return list
      .map((value) => ({ value, order: this.next() }))
      .toSorted((a, b) => a.order - b.order)
      .map(({ value }) => value);
  }
}
