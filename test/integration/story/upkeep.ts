import { type Check, expectEqual } from './check.ts';
import { start, waitForStatus } from './runs.ts';

// The example waits for five, and the sweeper comes every minute.
const TIMER_SECONDS = 8 * 60;

export const TIMER: Check = {
  name: 'a run that waits for five minutes is woken by the schedule, and goes on',
  async run(scene) {
    const run = 'integ-timer';
    await start(scene, run, 'model-loop', { message: 'Good morning.' });
    await waitForStatus(scene, run, 'WAITING_FOR_SIGNAL');
    const { result } = await waitForStatus(scene, run, 'SUCCEEDED', TIMER_SECONDS);
    const { answer } = Object(result) as { answer?: unknown };
    expectEqual('What the model said last', String(answer).slice(0, 23), 'I only follow a script.');
  },
};

export const SCHEDULED: Check = {
  name: 'the functions on a schedule may do what they do',
  async run({ cloud, stack }) {
    const { failed } = Object(await cloud.invoke(stack, 'sweep')) as { failed?: unknown };
    expectEqual('How many runs could not be swept', failed, 0);
    const counts = Object.values(Object(await cloud.invoke(stack, 'gauge')));
    expectEqual('What was measured', counts.length > 0 && counts.every(Number.isFinite), true);
  },
};

export const DEAD_LETTERS: Check = {
  name: 'nothing was given up: there are no dead letters',
  run: async ({ cloud, stack }) => expectEqual('How many there are', await cloud.deadLetters(stack), 0),
};

export const DOCTOR: Check = {
  name: 'waitstate doctor finds no problem',
  run: async ({ cloud, stack, signal }) => expectEqual('Its exit code', await cloud.doctor(stack, signal), 0),
};
