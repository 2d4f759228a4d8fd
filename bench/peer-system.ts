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

/** A peer that works in a process of its own; the CPU it took is its own, not that of this process. */
export interface PeerSystem extends System {
  readonly cpuMs: readonly number[];
  stop(): void;
}

/** `@rwai/langgraphjs-checkpoint-dynamodb` under LangGraph.js. */
export async function startRwaiPeer(wire: Wire, work: Work): Promise<PeerSystem> {
  const program = new URL('./peers/rwai.mjs', import.meta.url);
  const child = fork(program, [wire.dynamoEndpoint, String(work.groups)], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const first = await answerOf(child);
  if (!first.ready) throw new Error(first.died ?? 'It did not start.');
  const cpuMs = [0];
  return {
    name: '@rwai + LangGraph',
    cpuMs,
    step: (step) => async () => {
      const answer = answerOf(child);
      child.send(step);
      const { died, cpuMs: spent = 0 } = await answer;
      if (died !== undefined) throw new Error(died);
      cpuMs.push((cpuMs.at(-1) ?? 0) + spent);
    },
    stop: () => void child.kill(),
  };
}

async function answerOf(child: ChildProcess): Promise<Answer> {
  const settled = new AbortController();
  const { signal } = settled;
  const given = once(child, 'message', { signal }).then(([answer]) => answer as Answer);
  const ended = once(child, 'exit', { signal }).then(([code]): Answer => ({ died: `The process ended with ${code}.` }));
  for (const each of [given, ended]) each.catch(() => {});
  return Promise.race([given, ended]).finally(() => settled.abort());
}
