import { WaitstateError } from '../../lambda/core/errors.ts';
import type { Storage } from '../../lambda/storage/ports.ts';

/** What happens to a write: nothing, an error instead of it, or an error after it took effect. */
export type Fault = 'fails' | 'answer lost' | undefined;

/** The same storage, whose calls that change something meet what `next` says; the process lives on. */
export function failingStorage(
  storage: Storage,
  next: () => Fault,
  code: 'STORAGE_UNAVAILABLE' | 'STORAGE_FULL',
): Storage {
  const changing = async <T>(run: () => Promise<T>): Promise<T> => {
    const fault = next();
    if (fault === 'fails') throw new WaitstateError(code, 'The storage failed on purpose.');
    const result = await run();
    if (fault === 'answer lost') throw new WaitstateError(code, 'The answer of the storage was lost on purpose.');
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
