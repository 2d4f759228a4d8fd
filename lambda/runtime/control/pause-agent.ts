import type { Context } from '../../checkpoints/engine.ts';
import { metaOnlyRecord, tryCommit } from '../../checkpoints/engine.ts';
import { agentsPartition, pausedAgentKey } from '../../storage/keys.ts';
import type { StoredRecord } from '../../storage/ports.ts';

async function pauseOf({ records, tenant }: Context, agent: string): Promise<StoredRecord | undefined> {
  const [stored] = await records.read(agentsPartition(tenant), [pausedAgentKey(agent)]);
  return stored;
}

/** Whether nothing of an agent is to be claimed. */
export const isPaused = async (context: Context, agent: string): Promise<boolean> =>
  (await pauseOf(context, agent)) !== undefined;

/** From here on no run of the agent is claimed; what runs goes on until it ends, yields or waits. */
export async function pauseAgent(context: Context, agent: string): Promise<void> {
  const put = metaOnlyRecord({ partition: agentsPartition(context.tenant) }, pausedAgentKey(agent), {
    pausedAt: context.now(),
  });
  // Otherwise it is paused already.
  await tryCommit(context.records, [{ put, when: 'absent' }]);
}

/** Runs of the agent are claimed again; those that are ready are delivered by the next sweep. */
export async function unpauseAgent(context: Context, agent: string): Promise<void> {
  const stored = await pauseOf(context, agent);
  if (stored) await tryCommit(context.records, [{ remove: stored, when: { revision: stored.revision } }]);
}
