import { isFields, partOf } from '../../../lambda/checkpoints/engine.ts';
import type { Operator } from '../../../lambda/operator/operator.ts';
import { type CodeLocation, findUserFrame } from './stack-location.ts';

/** The line of the agent's code that threw the error of a run; undefined if it is not known. */
export async function findErrorLocation(operator: Operator, run: string): Promise<CodeLocation | undefined> {
  // The error itself is shown even if the checkpoint cannot be read.
  const { toolResults = {} } = (await operator.checkpoint(run).catch(() => undefined)) ?? {};
  const entry = toolResults['@error'];
  const more = isFields(entry) ? partOf(entry.error, 'error', 3) : undefined;
  const stack = isFields(more) ? more.stack : undefined;
  return typeof stack === 'string' ? findUserFrame(stack) : undefined;
}

/** Why the last attempt of a step failed, for a step that is retried. */
export async function findLastFailure(operator: Operator, run: string, step: string): Promise<string | undefined> {
  const { toolResults = {} } = (await operator.checkpoint(run).catch(() => undefined)) ?? {};
  const entry = Object.hasOwn(toolResults, step) ? toolResults[step] : undefined;
  const lastFailure = isFields(entry) ? entry.lastFailure : undefined;
  return typeof lastFailure === 'string' ? lastFailure : undefined;
}
