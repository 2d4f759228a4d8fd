import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether this is `npm run test:deep`. */
    readonly deep: boolean;
  }
}

/** A value for `npm test`, and another one for `npm run test:deep`, which repeats more and therefore takes longer. */
export const repeats = <T>(inTest: T, inDeepTest: T): T => (inject('deep') ? inDeepTest : inTest);
