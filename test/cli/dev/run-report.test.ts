import { expect, it } from 'vitest';
import { describeCrash } from '../../../cli/dev/log/run-report.ts';

it('says that a process took too long, and names the limit only if it is that of an invocation', () => {
  const exit = { code: null, signal: 'SIGKILL', killedFor: 'timeout' } as const;
  expect(describeCrash(exit, 1_000)).toBe('took too long and was killed');
  expect(describeCrash(exit, 1_000, 'exceeded the limit')).toBe('exceeded the limit and was killed');
});
