export {
  type Crash,
  TestClock,
  type TestOptions,
  type TestRun,
  type TestWorld,
  testAgents,
} from './runtime/testing.ts';
