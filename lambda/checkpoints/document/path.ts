/**
 * One step into a value: a key, an index, a method call for values without either, or an entry of a Map, which is
 * followed by 0 for its key or 1 for its value.
 */
export type Step =
  | string
  | number
  | readonly [call: string, argument: unknown]
  | { readonly entry: number; readonly key: unknown };

const MAX_PATH_CHARACTERS = 240;

/**
 * A path in JavaScript notation, such as `state.tools[3]["odd key"].get("k")`; very long ones are cut in the middle.
 */
export function printPath(root: string, steps: readonly Step[]): string {
  let text = root;
  for (const [i, step] of steps.entries()) text += printStep(step, steps[i - 1], text === '');
  return text.length > MAX_PATH_CHARACTERS
    ? `${text.slice(0, MAX_PATH_CHARACTERS / 2)} … ${text.slice(-MAX_PATH_CHARACTERS / 2)}`
    : text;
}

function printStep(step: Step, last: Step | undefined, first: boolean): string {
  if (typeof step === 'object') return 'entry' in step ? '' : `.${step[0]}(${printArgument(step[1])})`;
  if (typeof last === 'object' && 'entry' in last) {
    if (step === 0) return `.key(${last.entry})`;
    return typeof last.key === 'object' ? `.value(${last.entry})` : `.get(${printArgument(last.key)})`;
  }
  if (typeof step === 'number') return `[${step}]`;
  if (!/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(step)) return `[${JSON.stringify(step)}]`;
  return first ? step : `.${step}`;
}

const printArgument = (value: unknown): string => (typeof value === 'string' ? JSON.stringify(value) : String(value));
