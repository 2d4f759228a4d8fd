import type { CheckpointStoreOptions } from '../../../lambda/checkpoints/context-factory.ts';

/**
 * The options of a store whose states have this shape. The first save of a shape is a snapshot whatever it saves, so that a
 * test knows what stands on what.
 */
export function shape(version: number): CheckpointStoreOptions {
  const steps = Array.from({ length: version - 1 }, (_, index) => [index + 1, (state: unknown) => state] as const);
  return { schema: { version, migrations: Object.fromEntries(steps) } };
}
