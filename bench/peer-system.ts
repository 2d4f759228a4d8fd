import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { System } from './systems.ts';
import type { Wire } from './wire.ts';
import type { Work } from './works.ts';

interface Answer {
  readonly ready?: true;
  readonly cpuMs?: number;
  readonly died?: string;
}

/** A peer in its own process; its CPU time is measured there. */
export interface PeerSystem extends System {
  readonly cpuMs: readonly number[];
  stop(): void;
}

/** Starts `@rwai/langgraphjs-checkpoint-dynamodb` with LangGraph.js. */
export async function startRwaiPeer(wire: Wire, work: Work): Promise<PeerSystem> {
  const program = new URL('./peers/rwai.mjs', import.meta.url);
  const child = fork(program, [wire.dynamoEndpoint, String(work.groups)], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const first = await nextAnswer(child);
  if (!first.ready) throw new Error(first.died ?? 'Expected the peer process to report that it is ready; it did not.');
  const cpuMs = [0];
  return {
    name: '@rwai + LangGraph',
    cpuMs,
    step: (step) => async () => {
      const answer = nextAnswer(child);
      child.send(step);
      const { died, cpuMs: spent = 0 } = await answer;
      if (died !== undefined) throw new Error(died);
      cpuMs.push((cpuMs.at(-1) ?? 0) + spent);
    },
    stop: () => void child.kill(),
  };
}

async function nextAnswer(child: ChildProcess): Promise<Answer> {
  const listening = new AbortController();
  const { signal } = listening;
  const answered = once(child, 'message', { signal }).then(([answer]) => answer as Answer);
  const exited = once(child, 'exit', { signal }).then(
    ([code]): Answer => ({ died: `The process exited with code ${code}.` }),
  );
  for (const each of [answered, exited]) each.catch(() => {});
  return Promise.race([answered, exited]).finally(() => listening.abort());
}
