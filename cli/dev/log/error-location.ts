import { isFields, partOf } from '../../../lambda/checkpoints/document/document.ts';
import type { Desk } from '../../../lambda/operator/operator.ts';
import { type StackPlace, stackPlace } from './stack-location.ts';

/** Where in code of the user the error of a run came up; undefined when that is not known. */
export async function errorPlace(desk: Desk, run: string): Promise<StackPlace | undefined> {
  // Whoever cannot read it still learns what the error says.
  const { toolResults = {} } = (await desk.checkpoint(run).catch(() => undefined)) ?? {};
  const entry = toolResults['@error'];
  const more = isFields(entry) ? partOf(entry.error, 'error', 3) : undefined;
  const stack = isFields(more) ? more.stack : undefined;
  return typeof stack === 'string' ? stackPlace(stack) : undefined;
}

/** Why the last attempt of a step failed that is tried again. */
export async function lastFailure(desk: Desk, run: string, step: string): Promise<string | undefined> {
  const { toolResults = {} } = (await desk.checkpoint(run).catch(() => undefined)) ?? {};
  const entry = Object.hasOwn(toolResults, step) ? toolResults[step] : undefined;
  const because = isFields(entry) ? entry.because : undefined;
  return typeof because === 'string' ? because : undefined;
}
