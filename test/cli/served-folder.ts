import { lockFolder } from '../../cli/dev/server/folder-lock.ts';

/** A folder on which a server works, as its lock says, until it is disposed of. */
export async function servedFolder(folder: string): Promise<Disposable> {
  const lock = await lockFolder(folder);
  return { [Symbol.dispose]: () => lock.release() };
}
