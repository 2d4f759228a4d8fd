import type { Chance } from './chance.ts';

/** A fault that is injected into a storage request. */
export type Fault =
  | 'killed before'
  | 'killed after'
  | 'fails'
  /** Applied, but the response is lost and the adapter sends the request again. */
  | 'sent twice'
  /** Applied, but the caller receives an error. */
  | 'response lost'
  /** The request arrives late. */
  | 'late'
  /** The response arrives late. */
  | 'slow'
  /** The process pauses before it reads the response. */
  | 'process pauses';

const KINDS = [
  'killed before',
  'killed after',
  'fails',
  'sent twice',
  'response lost',
  'late',
  'slow',
  'process pauses',
] as const satisfies readonly Fault[];

/** The most frequent that a fault is, if not 6 % of the requests. */
const MAX_RATES: Readonly<Partial<Record<Fault, number>>> = { 'process pauses': 0.04, 'sent twice': 0.2 };

/** How wrong a clock may be: seconds, minutes, or hours, with which a process refuses to claim. */
const MAX_WRONG_MS = [10_000, 180_000, 900_000, 6 * 3_600_000] as const;

/** The faults of a seed: each kind is frequent, rare or absent, and their total number is limited. */
export class Faults {
  left: number;
  readonly #chance: Chance;
  readonly #rates: ReadonlyMap<Fault, number>;
  readonly #inStep: number;
  readonly lostDeliveries: number;
  readonly doubleDeliveries: number;
  readonly lostMail: number;
  readonly lagMs: number;
  readonly skewMs: number;
  /** The share of processes whose clock is wrong by seconds to hours. */
  readonly wrongClocks: number;

  constructor(chance: Chance) {
    this.#chance = chance;
    const rate = (max: number) => (chance.happens(0.45) ? 0 : max * chance.next() ** 2);
    this.#rates = new Map(KINDS.map((kind) => [kind, rate(MAX_RATES[kind] ?? 0.06)]));
    this.#inStep = rate(0.2);
    this.left = chance.happens(0.1) ? 0 : chance.between(1, 25);
    this.lostDeliveries = rate(0.6);
    this.doubleDeliveries = rate(0.6);
    this.lostMail = rate(0.6);
    this.lagMs = chance.happens(0.7) ? 0 : chance.between(100, 90_000);
    this.skewMs = chance.happens(0.5) ? 0 : chance.between(0, 300);
    this.wrongClocks = chance.happens(0.6) ? 0 : chance.next();
  }

  /** The fault of this request, if any. */
  nextFault(): Fault | undefined {
    if (this.left === 0) return undefined;
    let draw = this.#chance.next();
    for (const [kind, rate] of this.#rates) {
      draw -= rate;
      if (draw < 0) {
        // A request that is sent twice delays nothing for long, so the number of these is not limited.
        if (kind !== 'sent twice') this.left -= 1;
        return kind;
      }
    }
    return undefined;
  }

  /** Whether the process crashes at this point of a step. */
  inStep(): boolean {
    return this.#takes(this.#inStep);
  }

  losesDelivery(): boolean {
    return this.#takes(this.lostDeliveries);
  }

  losesMail(): boolean {
    return this.#takes(this.lostMail);
  }

  /** Duplicates are harmless, so their number is not limited. */
  doublesDelivery(): boolean {
    return this.#chance.happens(this.doubleDeliveries);
  }

  /** How far the clock of a process is ahead. */
  skew(): number {
    if (!this.#chance.happens(this.wrongClocks)) return this.smallSkew();
    const maxMs = this.#chance.one(MAX_WRONG_MS);
    return this.#chance.between(-maxMs, maxMs);
  }

  /** How far a clock is ahead that is synchronized. */
  smallSkew(): number {
    return this.#chance.between(-this.skewMs, this.skewMs);
  }

  #takes(rate: number): boolean {
    if (this.left === 0 || !this.#chance.happens(rate)) return false;
    this.left -= 1;
    return true;
  }
}
