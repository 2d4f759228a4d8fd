import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// These replace modules of Node, which other files in the same process must not see.
const MOCKING = ['test/faults/{crash,model,races}.test.ts'];
const BROWSER = ['test/browser/*.test.ts'];
const EXCLUDED = ['**/node_modules/**', '**/*.deep.test.ts'];

// The tests of `npm test`; those of `npm run test:deep` are in test/deep.config.ts. Files share two processes, because a
// process for each file would load the same modules 200 times; so each test undoes what it changes in its process.
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
    globalSetup: ['test/engines/start.ts'],
    testTimeout: 120_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    unstubEnvs: true,
    provide: { deep: false },
    // Processes that tests start spend most of their time loading code.
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/waitstate/code', import.meta.url)) },
    projects: [
      {
        extends: true,
        test: {
          name: 'main',
          include: ['test/**/*.test.ts'],
          exclude: [...EXCLUDED, ...MOCKING, ...BROWSER],
          isolate: false,
        },
      },
      { extends: true, test: { name: 'mocking', include: MOCKING } },
      {
        extends: true,
        test: {
          name: 'browser',
          include: BROWSER,
          exclude: EXCLUDED,
          isolate: false,
          globalSetup: ['test/browser/install.ts'],
        },
      },
    ],
  },
});
