import { type ApprovalMove, createApproval } from './approval-move.ts';
import type { Chance } from './chance.ts';

/** One move of a simulated agent; `at` is its unique position in the program. */
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
      readonly minSuccessful?: number;
      readonly concurrency?: number;
    }
  | { readonly do: 'try'; readonly moves: Program }
  | { readonly do: 'throw' }
);

export interface StepMove {
  readonly do: 'step';
  readonly ms: number;
  /** How many attempts fail before one succeeds; above 2, the step fails. */
  readonly fails: number;
  readonly longPause: boolean;
  readonly bytes: number;
  readonly kind: 'plain' | 'once' | 'undoable' | 'never undone' | 'broken';
}

export type Program = readonly Move[];

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const SIGNALS = ['go', 'paid', 'seen'] as const;

const DEPTH = 2;

/** Generates a random program. */
export function createProgram(chance: Chance): Program {
  return createMoves(chance, '', chance.between(1, 7), DEPTH);
}

function createMoves(chance: Chance, path: string, count: number, depth: number): Program {
  return Array.from({ length: count }, (_, i) => createMove(chance, `${path}${i}`, depth));
}

function createMove(chance: Chance, at: string, depth: number): Move {
  const inner = (part: string, count: number) => createMoves(chance, `${at}${part}`, count, depth - 1);
  const kinds: readonly (readonly [number, () => Move])[] = [
    [8, () => ({ at, ...createStep(chance, depth === DEPTH) })],
    [
      3,
      () => ({ at, do: 'tool', argument: chance.between(1, 2), cache: chance.one(['none', 'run', 'short', 'shared']) }),
    ],
    [2, () => ({ at, do: 'update' })],
    [1, () => ({ at, do: 'note' })],
    [1, () => ({ at, do: 'payload', bytes: chance.between(1, 3_000) })],
    [2, () => ({ at, do: 'sleep', ms: chance.one([500, 5_000, 20_000, 10 * MINUTE, 3 * HOUR]) })],
    [3, () => createSignal(chance, at)],
    [3, () => ({ at, ...createApproval(chance) })],
    [1, () => ({ at, do: 'throw' })],
    [depth > 0 ? 2 : 0, () => ({ at, do: 'call', moves: inner('c', chance.between(1, 3)) })],
    [depth > 0 ? 3 : 0, () => createBranches(chance, at, inner)],
    [depth > 0 ? 2 : 0, () => ({ at, do: 'try', moves: inner('t', chance.between(1, 3)) })],
  ];
  return chance.weighted(kinds)();
}

/** Only a top-level step may be broken until it is fixed: a `try` or a child run would hide the failure. */
function createStep(chance: Chance, mayBreak: boolean): StepMove {
  const kind = chance.weighted<StepMove['kind']>([
    [5, 'plain'],
    [2, 'once'],
    [4, 'undoable'],
    [1, 'never undone'],
    [mayBreak ? 0.5 : 0, 'broken'],
  ]);
  return {
    do: 'step',
    kind,
    longPause: chance.happens(0.2),
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

const createSignal = (chance: Chance, at: string): Move => ({
  at,
  do: 'signal',
  name: chance.one(SIGNALS),
  ...(chance.happens(0.25) && { timeoutMs: chance.between(30, 90) * MINUTE }),
});

function createBranches(chance: Chance, at: string, inner: (part: string, count: number) => Program): Move {
  const count = chance.between(2, 4);
  const branches = Array.from({ length: count }, (_, i) => inner(`b${i}.`, chance.between(1, 2)));
  return {
    at,
    do: 'all',
    branches,
    ...(chance.happens(0.5) && { minSuccessful: chance.between(1, count) }),
    ...(chance.happens(0.3) && { concurrency: 2 }),
  };
}

/** Every move of one run, including those in branches but not those of child runs. */
export function* movesIn(program: Program): Generator<Move> {
  for (const move of program) {
    yield move;
    if (move.do === 'try') yield* movesIn(move.moves);
    if (move.do === 'all') for (const branch of move.branches) yield* movesIn(branch);
  }
}
