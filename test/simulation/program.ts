import type { Chance } from './chance.ts';

/** One thing that an agent of the simulation does; `at` is its place in the program, and no two have the same. */
export type Move = { readonly at: string } & (
  | StepMove
  | { readonly do: 'tool'; readonly argument: number; readonly cache: 'none' | 'run' | 'short' | 'shared' }
  | { readonly do: 'update' }
  | { readonly do: 'note' }
  | { readonly do: 'payload'; readonly bytes: number }
  | { readonly do: 'sleep'; readonly ms: number }
  | { readonly do: 'signal'; readonly name: string; readonly timeoutMs?: number }
  | ApprovalMove
  | { readonly do: 'call'; readonly moves: Program }
  | {
      readonly do: 'all';
      readonly branches: readonly Program[];
      readonly enough?: number;
      readonly concurrency?: number;
    }
  | { readonly do: 'try'; readonly moves: Program }
  | { readonly do: 'throw' }
);

export interface StepMove {
  readonly do: 'step';
  readonly ms: number;
  /** How many attempts fail before one succeeds; all of them when it is fatal. */
  readonly fails: number;
  readonly longPause: boolean;
  readonly bytes: number;
  readonly kind: 'plain' | 'once' | 'undoable' | 'never undone' | 'broken';
}

export interface ApprovalMove {
  readonly do: 'approval';
  readonly approvers: readonly string[];
  readonly quorum: number;
  readonly timeoutMs?: number;
  readonly onTimeout: 'reject' | 'approve' | 'fail' | 'escalate';
  readonly remind: boolean;
  /** How often the facts change under the answer. */
  readonly changes: number;
  readonly rechecks: boolean;
}

export type Program = readonly Move[];

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const SIGNALS = ['go', 'paid', 'seen'] as const;
const PEOPLE = ['user:ann', 'user:ben', 'user:cyd'] as const;

const DEPTH = 2;

/** A program by chance. */
export function programOf(chance: Chance): Program {
  return movesOf(chance, '', chance.between(1, 7), DEPTH);
}

function movesOf(chance: Chance, path: string, count: number, depth: number): Program {
  return Array.from({ length: count }, (_, i) => moveOf(chance, `${path}${i}`, depth));
}

function moveOf(chance: Chance, at: string, depth: number): Move {
  const inner = (part: string, count: number) => movesOf(chance, `${at}${part}`, count, depth - 1);
  const kinds: readonly (readonly [number, () => Move])[] = [
    [8, () => ({ at, ...stepOf(chance, depth === DEPTH) })],
    [
      3,
      () => ({ at, do: 'tool', argument: chance.between(1, 2), cache: chance.one(['none', 'run', 'short', 'shared']) }),
    ],
    [2, () => ({ at, do: 'update' })],
    [1, () => ({ at, do: 'note' })],
    [1, () => ({ at, do: 'payload', bytes: chance.between(1, 3_000) })],
    [2, () => ({ at, do: 'sleep', ms: chance.one([500, 5_000, 20_000, 10 * MINUTE, 3 * HOUR]) })],
    [3, () => signalOf(chance, at)],
    [3, () => ({ at, ...approvalOf(chance) })],
    [1, () => ({ at, do: 'throw' })],
    [depth > 0 ? 2 : 0, () => ({ at, do: 'call', moves: inner('c', chance.between(1, 3)) })],
    [depth > 0 ? 3 : 0, () => allOf(chance, at, inner)],
    [depth > 0 ? 2 : 0, () => ({ at, do: 'try', moves: inner('t', chance.between(1, 3)) })],
  ];
  return chance.weighted(kinds)();
}

/** Only a step of the run itself is broken until somebody mends it: others would hide that. */
function stepOf(chance: Chance, mayBreak: boolean): StepMove {
  const kind = chance.weighted<StepMove['kind']>([
    [5, 'plain'],
    [2, 'once'],
    [4, 'undoable'],
    [1, 'never undone'],
    [mayBreak ? 0.5 : 0, 'broken'],
  ]);
  return {
    ...{ do: 'step', kind, longPause: chance.happens(0.2) },
    ms: chance.weighted([
      [6, 0],
      [3, chance.between(1, 2_000)],
      [1, chance.between(2_000, 12_000)],
    ]),
    fails:
      kind === 'once'
        ? 0
        : chance.weighted([
            [8, 0],
            [1, 1],
            [1, 2],
            [0.3, 9],
          ]),
    bytes: chance.weighted([
      [8, 0],
      [2, 1_500],
    ]),
  };
}

const signalOf = (chance: Chance, at: string): Move => ({
  ...{ at, do: 'signal', name: chance.one(SIGNALS) },
  ...(chance.happens(0.25) && { timeoutMs: chance.between(30, 90) * MINUTE }),
});

function approvalOf(chance: Chance): ApprovalMove {
  const approvers = chance.shuffled(PEOPLE).slice(0, chance.between(1, 3));
  const rechecks = chance.happens(0.4);
  return {
    ...{ do: 'approval', approvers, rechecks, remind: chance.happens(0.3) },
    quorum: chance.between(1, Math.min(2, approvers.length)),
    onTimeout: chance.one(['reject', 'approve', 'fail', 'escalate']),
    changes: rechecks && chance.happens(0.5) ? chance.between(1, 3) : 0,
    ...(chance.happens(0.5) && { timeoutMs: chance.between(30, 300) * MINUTE }),
  };
}

function allOf(chance: Chance, at: string, inner: (part: string, count: number) => Program): Move {
  const count = chance.between(2, 4);
  const branches = Array.from({ length: count }, (_, i) => inner(`b${i}.`, chance.between(1, 2)));
  return {
    ...{ at, do: 'all', branches },
    ...(chance.happens(0.5) && { enough: chance.between(1, count) }),
    ...(chance.happens(0.3) && { concurrency: 2 }),
  };
}

/** Every move of one run: those in branches too, not those of children. */
export function* movesIn(program: Program): Generator<Move> {
  for (const move of program) {
    yield move;
    if (move.do === 'try') yield* movesIn(move.moves);
    if (move.do === 'all') for (const branch of move.branches) yield* movesIn(branch);
  }
}
