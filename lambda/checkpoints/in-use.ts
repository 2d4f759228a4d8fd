import type { CheckpointMeta } from './records.ts';

/**
 * The payloads that some checkpoint still needs: those that its state points at, and the segments of its anchor. Takes all checkpoints
 * of a run in order, and which of them can be loaded.
 */
export function payloadsInUse(
  checkpoints: readonly { readonly version: number; readonly meta: CheckpointMeta }[],
  loadable: (version: number) => boolean,
): ReadonlySet<string> {
  const needed = new Set<string>();
  // What the state points at, as of the version at hand, and no version before it needed.
  const pointed = new Set<string>();
  let segments: readonly string[] = [];
  for (const { version, meta } of checkpoints) {
    for (const id of meta.pa ?? []) pointed.add(id);
    for (const id of meta.pd ?? []) pointed.delete(id);
    if (meta.a === undefined) segments = (meta.g ?? []).map(([id]) => id);
    if (!loadable(version)) continue;
    for (const id of [...pointed, ...segments]) needed.add(id);
    pointed.clear();
  }
  return needed;
}
