import type { Move, Program } from './program.ts';

/** Stands for what depends on time and on people. */
const ANY = { any: true } as const;

/** What a program comes to when nothing goes wrong; undefined when it throws. */
export function expectedOf(program: Program, mended: boolean): readonly unknown[] | undefined {
  const all: unknown[] = [];
  for (const move of program) {
    const one = expectedMove(move, mended);
    if (one === THROWS) return undefined;
    all.push(one);
  }
  return all;
}

const THROWS = Symbol('throws');

function expectedMove(move: Move, mended: boolean): unknown {
  switch (move.do) {
    case 'throw':
      return THROWS;
    case 'step':
      if (move.kind === 'once') return { once: ANY };
      return move.fails > 2 || (move.kind === 'broken' && !mended) ? THROWS : `step ${move.at}`;
    case 'tool':
      return `tool ${move.argument}`;
    case 'signal':
      return { signal: ANY };
    case 'approval':
      return { decision: ANY };
    case 'call':
      return expectedOf(move.moves, false) ?? THROWS;
    case 'try': {
      const tried = expectedOf(move.moves, mended);
      return tried ? { tried } : 'caught';
    }
    case 'all': {
      const branches = move.branches.map((branch) => expectedOf(branch, mended));
      const succeed = branches.filter((branch) => branch !== undefined).length;
      if (succeed < (move.enough ?? branches.length)) return THROWS;
      return move.enough === undefined ? branches : { enough: ANY };
    }
    default:
      return move.do;
  }
}

/** Where what came is not what was expected; undefined when it is. */
export function difference(expected: unknown, found: unknown, path = 'result'): string | undefined {
  if (expected === ANY) return undefined;
  if (typeof expected !== 'object' || expected === null)
    return Object.is(expected, found)
      ? undefined
      : `${path}: ${JSON.stringify(expected)} expected, ${JSON.stringify(found)} found`;
  const keys = new Set([...Object.keys(expected), ...Object.keys(Object(found))]);
  for (const key of keys) {
    const wrong = difference((expected as Fields)[key], (Object(found) as Fields)[key], `${path}.${key}`);
    if (wrong) return wrong;
  }
  return undefined;
}

type Fields = Readonly<Record<string, unknown>>;
