import type { ContextFactory } from '../checkpoints/engine.ts';
import { logClockDifference } from '../runtime/clock-difference.ts';
import type { Telemetry } from '../runtime/telemetry.ts';

/** Logs and counts the difference between the clocks of this process and of the storage, if there is one. */
export async function reportClockDifference({
  contexts,
  telemetry,
}: {
  readonly contexts: ContextFactory;
  readonly telemetry: Telemetry;
}): Promise<void> {
  const context = await contexts.forTenant();
  const aheadMs = context.records.clockAheadMs() ?? 0;
  logClockDifference(context, telemetry.log);
  if (aheadMs !== 0) telemetry.count('ClockDifferenceSeconds', Math.abs(aheadMs) / 1000);
}
