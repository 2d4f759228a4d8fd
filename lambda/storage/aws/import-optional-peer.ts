/** Loads a module that needs an optional peer dependency; the error says how to install a missing one. */
export const importOptionalPeer = <M>(peer: string, load: () => Promise<M>): Promise<M> =>
  load().catch(async (cause) => {
    throw (await import('./missing-peer.ts')).missingPeer(peer, cause);
  });
