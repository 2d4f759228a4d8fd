export type { RunExpectation } from './testing/run-expectation.ts';
export type { StepFault } from './testing/step-faults.ts';
export { type FaultCount, type TestEnvironment, type TestOptions, testAgents } from './testing/test-agents.ts';
export { TestClock } from './testing/test-clock.ts';
export type { TestRun } from './testing/test-run.ts';
