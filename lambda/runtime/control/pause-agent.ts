import { type Context, metaOnlyRecord, tryCommit } from '../../checkpoints/engine.ts';
import { agentsPartition, pausedAgentKey } from '../../storage/keys.ts';
import type { StoredRecord } from '../../storage/ports.ts';

async function pauseOf({ records, tenant }: Context, agent: string): Promise<StoredRecord | undefined> {
  const [stored] = await records.read(agentsPartition(tenant), [pausedAgentKey(agent)]);
  return stored;
}

/** Whether an agent is paused, so that none of its runs may be claimed. */
export const isPaused = async (context: Context, agent: string): Promise<boolean> =>
  (await pauseOf(context, agent)) !== undefined;

/**
 * Stops runs of the agent from being claimed. Runs that are claimed continue until they end, yield or suspend. Returns
 * false if the agent was paused before.
 */
export async function pauseAgent(context: Context, agent: string): Promise<boolean> {
  const put = metaOnlyRecord({ partition: agentsPartition(context.tenant) }, pausedAgentKey(agent), {
    pausedAt: context.now(),
  });
  return tryCommit(context.records, [{ put, when: 'absent' }]);
}

/**
 * Allows runs of the agent to be claimed again. The next sweep delivers those that are READY. Returns false if the agent
 * was not paused.
 */
export async function unpauseAgent(context: Context, agent: string): Promise<boolean> {
  const stored = await pauseOf(context, agent);
  return stored !== undefined && tryCommit(context.records, [{ remove: stored, when: { revision: stored.revision } }]);
}
