import type { RunView } from './operator.ts';

/** Why a run that is READY is not running. */
type ReadyReason =
  /** The deployed code cannot load the run. */
  | 'parked'
  /** Its agent is paused. */
  | 'paused'
  /** No agent with its name is deployed here. */
  | 'unknown agent'
  /** It was delivered, but no process has claimed it: the function is throttled, or fails before it starts. */
  | 'not claimed'
  /** It was not delivered again yet. */
  | 'queued';

/** Why a run is not running, and since when it could. */
export interface ReadyState {
  readonly reason: ReadyReason;
  readonly since: Date;
  readonly text: string;
}

/** Explains why a READY run is not running; undefined for any other run. `agents` are the known ones, if any are. */
export function explainReady(
  run: Pick<RunView, 'status' | 'agent' | 'parkedReason' | 'deliveries' | 'updatedAt' | 'isPaused'>,
  agents: readonly string[] = [],
): ReadyState | undefined {
  if (run.status !== 'READY') return undefined;
  const reason = findReason(run, agents);
  return { reason, since: run.updatedAt, text: TEXTS[reason](run) };
}

function findReason(
  { parkedReason, isPaused, agent, deliveries }: Parameters<typeof explainReady>[0],
  agents: readonly string[],
): ReadyReason {
  if (isPaused) return 'paused';
  if (agents.length > 0 && agent !== undefined && !agents.includes(agent)) return 'unknown agent';
  if (parkedReason !== undefined) return 'parked';
  return deliveries > 0 ? 'not claimed' : 'queued';
}

const TEXTS: Readonly<Record<ReadyReason, (run: Parameters<typeof explainReady>[0]) => string>> = {
  parked: ({ parkedReason }) =>
    `The deployed code cannot load it: ${parkedReason} It resumes after a deployment that can.`,
  paused: ({ agent }) => `Agent "${agent}" is paused. The run starts when the agent is unpaused.`,
  'unknown agent': ({ agent }) => `No agent "${agent}" is known here. The run starts when one is deployed.`,
  'not claimed': ({ deliveries }) =>
    `It was delivered again ${deliveries === 1 ? 'once' : `${deliveries} times`}, but no process has claimed it. The function of its agent may be throttled, or fail before it starts.`,
  queued: () => 'It is queued for a process of its agent. If none takes it within a minute, it is delivered again.',
};
