import { type Check, expectEqual } from './check.ts';
import { start, waitForStatus } from './runs.ts';

// The example waits for five minutes, and the sweeper runs every minute.
const TIMER_SECONDS = 8 * 60;

export const TIMER: Check = {
  name: 'a run that waits for five minutes is resumed by the sweeper',
  async run(scene) {
    const run = 'integ-timer';
    await start(scene, run, 'model-loop', { message: 'Good morning.' });
    await waitForStatus(scene, run, 'WAITING_FOR_SIGNAL');
    const { result } = await waitForStatus(scene, run, 'SUCCEEDED', TIMER_SECONDS);
    const { answer } = Object(result) as { answer?: unknown };
    expectEqual('The last response of the model', String(answer).slice(0, 23), 'I only follow a script.');
  },
};

export const SCHEDULED: Check = {
  name: 'the scheduled functions work',
  async run({ cloud, stack }) {
    const { failed } = Object(await cloud.invoke(stack, 'sweep')) as { failed?: unknown };
    expectEqual('The number of runs that failed in a sweep', failed, 0);
    const counts = Object.values(Object(await cloud.invoke(stack, 'gauge')));
    expectEqual('Whether all gauges are numbers', counts.length > 0 && counts.every(Number.isFinite), true);
  },
};

export const DEAD_LETTERS: Check = {
  name: 'the dead-letter queue is empty',
  run: async ({ cloud, stack }) => expectEqual('The number of messages', await cloud.deadLetters(stack), 0),
};

export const DOCTOR: Check = {
  name: 'waitstate doctor finds no problem',
  run: async ({ cloud, stack, signal }) => expectEqual('Its exit code', await cloud.doctor(stack, signal), 0),
};
