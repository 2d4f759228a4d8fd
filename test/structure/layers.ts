/** The layers of the product, lowest first. A module imports only from its own layer and from those before it. */
export const LAYERS = [
  'lambda/core',
  'lambda/client',
  'lambda/environment',
  'lambda/storage',
  'lambda/checkpoints',
  'lambda/runtime',
  'lambda/operator',
  'lambda/testing',
  'lambda/protocol',
  'lambda/http',
  'lambda/console',
  'lambda/api',
  'lambda/handlers',
  'lambda',
  'infra',
  'cli',
] as const;

/** The rooms of the runtime, lowest first, under the same rule. */
export const RUNTIME_ROOMS = [
  'lambda/runtime',
  'lambda/runtime/definition',
  'lambda/runtime/journal',
  'lambda/runtime/wake',
  'lambda/runtime/approvals',
  'lambda/runtime/control',
  'lambda/runtime/invocation',
  'lambda/runtime/operations',
  'lambda/runtime/execution',
  'lambda/runtime/remote',
  'lambda/runtime/agent',
] as const;

/** The modules of the checkpoint store that other layers may import. */
export const CHECKPOINT_DOORS = [
  'lambda/checkpoints/checkpoint-store.ts',
  'lambda/checkpoints/store-from-environment.ts',
  'lambda/checkpoints/engine.ts',
  'lambda/checkpoints/documents.ts',
  'lambda/checkpoints/encryption/kms-keys.ts',
  'lambda/checkpoints/operations/operations.ts',
] as const;

/** The layer of a module: the longest of the given folders that holds it. */
export const layerOf = (module: string, layers: readonly string[]): string | undefined =>
  layers.filter((layer) => module.startsWith(`${layer}/`)).toSorted((a, b) => b.length - a.length)[0];
