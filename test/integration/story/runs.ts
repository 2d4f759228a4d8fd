import type * as z from 'zod';
import { Run, Started } from '../../../lambda/api/schemas/runs.ts';
import { hasEnded, type Status } from '../../../lambda/core/status.ts';
import { CheckFailed, expectEqual, read, type Scene, until } from './check.ts';

type RunAnswer = z.infer<typeof Run>;

/** Starts a run, and checks that starting it again has no effect. */
export async function start({ api }: Scene, id: string, agent: string, input: unknown): Promise<void> {
  const body = { agent, id, input };
  const first = await api('POST', '/api/runs', { body });
  // If a response was lost and the request was retried, the run already exists.
  expectEqual('The started run', read(first, first.status === 200 ? 200 : 201, Started).run, id);
  const { run, isNew } = read(await api('POST', '/api/runs', { body }), 200, Started);
  expectEqual('The run that was started twice', { run, isNew }, { run: id, isNew: false });
}

// On a new table, Lambda may take a minute or two until it reads the stream.
const SECONDS = 240;

/** Polls a run until it has this status; throws if it ends with another one. */
export async function waitForStatus(scene: Scene, id: string, wanted: Status, seconds = SECONDS): Promise<RunAnswer> {
  return until(scene, { what: `Run "${id}" with status ${wanted}`, seconds }, async () => {
    const run = read(await scene.api('GET', `/api/runs/${id}`), 200, Run);
    if (run.status === wanted) return { found: run };
    const instead = `${run.status}${run.error ? ` (${run.error.name}: ${run.error.message})` : ''}`;
    if (hasEnded(run.status)) throw new CheckFailed(`Run "${id}" must become ${wanted}; it ended as ${instead}.`);
    return { instead };
  });
}
