import type { Chance } from './chance.ts';

/** What happens to a call of the storage. */
export type Fault =
  | 'killed before'
  | 'killed after'
  | 'fails'
  /** Applied, the answer lost, and sent again by the adapter. */
  | 'sent twice'
  /** Applied, and the caller is told that it failed. */
  | 'answer lost'
  /** The request arrives late. */
  | 'late'
  /** The answer arrives late. */
  | 'slow'
  | 'stands still';

const KINDS = [
  'killed before',
  'killed after',
  'fails',
  'sent twice',
  'answer lost',
  'late',
  'slow',
  'stands still',
] as const satisfies readonly Fault[];

/** How bad this world is: each seed has some faults often, some seldom, some never, and so many altogether. */
export class Faults {
  left: number;
  readonly #chance: Chance;
  readonly #rates: ReadonlyMap<Fault, number>;
  readonly #inStep: number;
  readonly lostDeliveries: number;
  readonly doubleDeliveries: number;
  readonly lagMs: number;
  readonly skewMs: number;

  constructor(chance: Chance) {
    this.#chance = chance;
    const rate = (most: number) => (chance.happens(0.45) ? 0 : most * chance.next() ** 2);
    this.#rates = new Map(KINDS.map((kind) => [kind, rate(kind === 'stands still' ? 0.04 : 0.06)]));
    this.#inStep = rate(0.2);
    this.left = chance.happens(0.1) ? 0 : chance.between(1, 25);
    this.lostDeliveries = rate(0.6);
    this.doubleDeliveries = rate(0.6);
    this.lagMs = chance.happens(0.7) ? 0 : chance.between(100, 90_000);
    this.skewMs = chance.happens(0.5) ? 0 : chance.between(0, 300);
  }

  /** What happens to this call, if anything. */
  ofCall(): Fault | undefined {
    if (this.left === 0) return undefined;
    let draw = this.#chance.next();
    for (const [kind, rate] of this.#rates) {
      draw -= rate;
      if (draw < 0) {
        this.left -= 1;
        return kind;
      }
    }
    return undefined;
  }

  /** Whether a process dies at this moment of a step. */
  inStep(): boolean {
    return this.#takes(this.#inStep);
  }

  losesDelivery(): boolean {
    return this.#takes(this.lostDeliveries);
  }

  /** Doubling does no harm, so there is no end to it. */
  doublesDelivery(): boolean {
    return this.#chance.happens(this.doubleDeliveries);
  }

  skew(): number {
    return this.#chance.between(-this.skewMs, this.skewMs);
  }

  #takes(rate: number): boolean {
    if (this.left === 0 || !this.#chance.happens(rate)) return false;
    this.left -= 1;
    return true;
  }
}
