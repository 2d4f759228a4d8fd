import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  // As users write it, and as examples do.
  resolve: {
    alias: [
      { find: /^waitstate$/, replacement: fileURLToPath(new URL('lambda/index.ts', import.meta.url)) },
      { find: /^waitstate\/cdk$/, replacement: fileURLToPath(new URL('infra/index.ts', import.meta.url)) },
      { find: /^waitstate\/(.+)$/, replacement: fileURLToPath(new URL('lambda/$1.ts', import.meta.url)) },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/engines/start.ts'],
    testTimeout: 120_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
});
