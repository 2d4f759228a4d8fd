import { Script } from 'node:vm';

// Schema libraries drop the flags of a pattern, so a text is refused only if it matches with none of these.
const TEST = new Script(`(() => {
  const verdicts = ['u', '', 'ims'].map((flags) => {
    try {
      return new RegExp(pattern, flags).test(text);
    } catch {
      return undefined;
    }
  });
  return verdicts.includes(true) || !verdicts.includes(false);
})()`);

const MAX_MS = 200;

/** Checks texts against patterns; all checks of one instance together take a limited time. */
export class Patterns {
  #msLeft = MAX_MS;

  /**
   * Whether a text matches a pattern. A pattern that is invalid, or too slow for the time that is left, refuses
   * nothing: the agent's own schema decides.
   */
  matches(pattern: string, text: string): boolean {
    if (this.#msLeft < 1) return true;
    const begin = performance.now();
    try {
      // Only a script can be stopped: a pattern such as (a+)+$ could block the process for years.
      return TEST.runInNewContext({ pattern, text }, { timeout: Math.floor(this.#msLeft) }) === true;
    } catch {
      return true;
    } finally {
      this.#msLeft -= performance.now() - begin;
    }
  }
}
