import type { Move, Program } from './program.ts';

/** Matches any value, for results that depend on timing and on people. */
const ANY = { any: true } as const;

/** The result of a program without faults; undefined if it throws. */
export function expectedOutput(program: Program, fixed: boolean): readonly unknown[] | undefined {
  const all: unknown[] = [];
  for (const move of program) {
    const one = expectedMove(move, fixed);
    if (one === THROWS) return undefined;
    all.push(one);
  }
  return all;
}

const THROWS = Symbol('throws');

function expectedMove(move: Move, fixed: boolean): unknown {
  switch (move.do) {
    case 'throw':
      return THROWS;
    case 'step':
      if (move.kind === 'once') return { once: ANY };
      return move.fails > 2 || (move.kind === 'broken' && !fixed) ? THROWS : `step ${move.at}`;
    case 'tool':
      return `tool ${move.argument}`;
    case 'signal':
      return { signal: ANY };
    case 'approval':
      return { decision: ANY };
    case 'call':
      return expectedOutput(move.moves, false) ?? THROWS;
    case 'try': {
      const tried = expectedOutput(move.moves, fixed);
      return tried ? { tried } : 'caught';
    }
    case 'all': {
      const branches = move.branches.map((branch) => expectedOutput(branch, fixed));
      const succeed = branches.filter((branch) => branch !== undefined).length;
      if (succeed < (move.minSuccessful ?? branches.length)) return THROWS;
      return move.minSuccessful === undefined ? branches : { minSuccessful: ANY };
    }
    default:
      return move.do;
  }
}

/** The first difference between two values, with its path; undefined if there is none. */
export function difference(expected: unknown, found: unknown, path = 'result'): string | undefined {
  if (expected === ANY) return undefined;
  if (typeof expected !== 'object' || expected === null)
    return Object.is(expected, found)
      ? undefined
      : `expected ${path} to be ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`;
  const keys = new Set([...Object.keys(expected), ...Object.keys(Object(found))]);
  for (const key of keys) {
    const inner = difference((expected as Fields)[key], (Object(found) as Fields)[key], `${path}.${key}`);
    if (inner) return inner;
  }
  return undefined;
}

type Fields = Readonly<Record<string, unknown>>;
