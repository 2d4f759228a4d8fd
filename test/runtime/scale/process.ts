import type { Agent, InvokeResult } from '../../../lambda/runtime/agent/agent.ts';
import type { Storage } from '../../../lambda/storage/ports.ts';
import { TestClock } from '../../../lambda/testing.ts';

export const START = Date.UTC(2030, 0, 1);

/** The agent in a new process without caches, at a fixed time. */
export function inColdProcess<I, S, R>(agent: Agent<I, S, R>, storage: Storage, now = START): Agent<I, S, R> {
  return agent.with({ storage, clock: new TestClock(now), log: () => {} });
}

let invocations = 0;

/** Invokes a run as Lambda does; the function has a timeout of 15 minutes. */
export async function invoke(agent: Pick<Agent, 'invoke' | 'runtime'>, run: string): Promise<InvokeResult> {
  invocations += 1;
  const end = await agent.invoke(
    { run },
    { by: `invocation ${invocations}`, until: agent.runtime.clock.now() + 900_000 },
  );
  if (end.end === 'failed') throw end.error;
  return end;
}
