export type { Crash } from './runtime/testing/steps.ts';
export { type TestEnvironment, type TestOptions, testAgents } from './runtime/testing/test-agents.ts';
export { TestClock } from './runtime/testing/test-clock.ts';
export type { TestRun } from './runtime/testing/test-run.ts';
