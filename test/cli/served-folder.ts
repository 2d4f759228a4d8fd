import { lockFolder } from '../../cli/dev/server/folder-lock.ts';

/** Holds the server lock of a folder until it is disposed. */
export async function servedFolder(folder: string): Promise<Disposable> {
  const lock = await lockFolder(folder);
  return { [Symbol.dispose]: () => lock.release() };
}
