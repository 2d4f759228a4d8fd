// AWS's durable execution SDK: sequential steps with results of 1 KB, on a client in memory or on its local test runner.
// Prints the time of the steps, and of the resume: of a second invocation that finds all of them recorded.
import { withDurableExecution } from '@aws/durable-execution-sdk-js';
import { LocalDurableTestRunner } from '@aws/durable-execution-sdk-js-testing';
import { stopwatch } from '../stopwatch.ts';
import { freshText } from '../works.ts';

const [, work, count] = process.argv.slice(2);
const steps = Number(count);
const results = Array.from({ length: steps }, (_, at) => freshText(at, 114));
const [times, resumed] = await (work === 'runner' ? onRunner() : inMemory());
console.log(JSON.stringify({ ...times, resumeMs: resumed.seconds * 1000 }));
process.exit();

async function allSteps(context) {
  for (const [at, result] of results.entries()) {
    const given = await context.step(`work ${at}`, async () => result);
    if (given !== result) throw new Error(`Step ${at} gave another result.`);
  }
}

async function inMemory() {
  const client = memoryClient();
  const handler = withDurableExecution((_, context) => allSteps(context), { durableExecutionClient: client });
  const invoke = async () => {
    const event = { DurableExecutionArn: 'arn:bench', CheckpointToken: '0', InitialExecutionState: client.state() };
    const { Status } = await handler(event, { awsRequestId: 'bench', getRemainingTimeInMillis: () => 900_000 });
    if (Status !== 'SUCCEEDED' || client.done() !== steps) throw new Error(`${Status}, ${client.done()} steps.`);
  };
  const stop = stopwatch();
  await invoke();
  const times = stop();
  const stopAgain = stopwatch();
  await invoke();
  return [times, stopAgain()];
}

/** The runner invokes the function again behind a wait; only there can what it recorded be replayed. */
async function onRunner() {
  await LocalDurableTestRunner.setupTestEnvironment({ skipTime: false });
  const times = [];
  const handlerFunction = withDurableExecution(async (_, context) => {
    const stop = stopwatch();
    await allSteps(context);
    times.push(stop());
    await context.wait('pause', { seconds: 1 });
  });
  const execution = await new LocalDurableTestRunner({ handlerFunction }).run({ payload: {} });
  if (execution.getStatus() !== 'SUCCEEDED' || times.length !== 2)
    throw new Error(`${execution.getStatus()}, ${times.length} invocations.`);
  await LocalDurableTestRunner.teardownTestEnvironment();
  return times;
}

/** The least that the SDK's own port asks for. */
function memoryClient() {
  const execution = { Id: 'execution', Type: 'EXECUTION', Status: 'STARTED', ExecutionDetails: { InputPayload: '{}' } };
  const operations = new Map([[execution.Id, execution]]);
  let token = 0;
  return {
    state: () => ({ Operations: [...operations.values()] }),
    done: () => [...operations.values()].filter(({ Type, Status }) => Type === 'STEP' && Status === 'SUCCEEDED').length,
    async getExecutionState() {
      return { Operations: [] };
    },
    async checkpoint({ Updates }) {
      const Operations = Updates.map(({ Id, Type, SubType, Name, ParentId, Action, Payload }) => {
        const Status = Action === 'SUCCEED' ? 'SUCCEEDED' : 'STARTED';
        const StepDetails = { Attempt: 1, ...(Payload !== undefined && { Result: Payload }) };
        const operation = { Id, Type, SubType, Name, ParentId, Status, StartTimestamp: new Date(), StepDetails };
        operations.set(Id, operation);
        return operation;
      });
      token += 1;
      return { CheckpointToken: String(token), NewExecutionState: { Operations } };
    },
  };
}
