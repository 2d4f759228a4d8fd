import { WaitstateError } from '../../lambda/core/errors.ts';
import type { Storage } from '../../lambda/storage/ports.ts';

/** What happens to a write: nothing, an error instead of the write, or an error after it took effect. */
export type Fault = 'fails' | 'response lost' | undefined;

/** The same storage, whose writes meet the fault that `next` returns. The process continues. */
export function failingStorage(
  storage: Storage,
  next: () => Fault,
  code: 'STORAGE_UNAVAILABLE' | 'STORAGE_FULL',
): Storage {
  const changing = async <T>(run: () => Promise<T>): Promise<T> => {
    const fault = next();
    if (fault === 'fails') throw new WaitstateError(code, 'The storage failed on purpose.');
    const result = await run();
    if (fault === 'response lost') throw new WaitstateError(code, 'The response of the storage was lost on purpose.');
    return result;
  };
  const { records, payloads } = storage;
  return {
    records: { ...records, commit: (writes) => changing(() => records.commit(writes)) },
    payloads: {
      ...payloads,
      put: (...args) => changing(() => payloads.put(...args)),
      copy: (...args) => changing(() => payloads.copy(...args)),
      remove: (...args) => changing(() => payloads.remove(...args)),
    },
  };
}
