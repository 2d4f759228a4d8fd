import { defineConfig } from 'vitest/config';
import config from '../vitest.config.ts';

const { projects: _, ...test } = config.test ?? {};

// Files that run only in `npm run test:deep`, and files that repeat more there.
export default defineConfig({
  ...config,
  test: {
    ...test,
    include: [
      'test/**/*.deep.test.ts',
      'test/attack/{fuzz,gateway,pages,races}.test.ts',
      'test/faults/{model,processes,races}.test.ts',
      'test/cli/dev/crashes.test.ts',
      'test/infra/{cdk-synth,nag}.test.ts',
      'test/operator/timeline-page.test.ts',
      'test/console/long-run.test.ts',
      'test/runtime/processes/{killing,racing}.test.ts',
      'test/runtime/scale/{long,many}-runs.test.ts',
      'test/runtime/sweeping.test.ts',
      'test/simulation/simulation.test.ts',
    ],
    globalSetup: [
      'test/engines/start.ts',
      'test/browser/install.ts',
      'test/bench/install.ts',
      'test/lambda-runtime/install.ts',
    ],
    provide: { deep: true },
  },
});
