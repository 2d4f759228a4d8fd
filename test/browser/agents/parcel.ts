// An agent for the browser tests that crashes, waits for a signal, fails and is undone.
import { existsSync, writeFileSync } from 'node:fs';
import { agent, FatalError } from 'waitstate';

export interface Parcel {
  readonly to: string;
  /** Created before the process crashes; if it exists, the process does not crash. */
  readonly crashFile?: string;
  /** While it does not exist, the delivery fails. */
  readonly roadFile?: string;
}

export const parcel = agent({
  name: 'parcel',
  description: 'Sends a parcel.',
  example: { to: 'Lisbon' },
  async run(ctx, { to, crashFile, roadFile }: Parcel) {
    await ctx.step('pack', () => ({ box: 'small', to }), { undo: () => ({ unpacked: true }) });
    await ctx.step('label', () => {
      if (crashFile === undefined || existsSync(crashFile)) return { label: to };
      writeFileSync(crashFile, '');
      return process.exit(9);
    });
    const driver = (await ctx.waitForSignal('picked up')) as { name: string };
    const arrived = await ctx.step('deliver', () => {
      if (roadFile !== undefined && !existsSync(roadFile)) throw new FatalError('The road is closed.');
      return { by: driver.name };
    });
    return { delivered: true, ...arrived };
  },
});
