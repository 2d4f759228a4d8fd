// An agent with all that can happen to a run, for the tests in a browser: it crashes, waits for a signal, fails, is undone.
import { existsSync, writeFileSync } from 'node:fs';
import { agent, FatalError } from 'waitstate';

export interface Parcel {
  readonly to: string;
  /** Written before the process dies; when it is there, it does not. */
  readonly crashFile?: string;
  /** While it is not there, nothing can be delivered. */
  readonly roadFile?: string;
}

export const parcel = agent({
  name: 'parcel',
  async run(ctx, { to, crashFile, roadFile }: Parcel) {
    await ctx.step('pack', () => ({ box: 'small', to }), { undo: () => ({ unpacked: true }) });
    await ctx.step('label', () => {
      if (crashFile === undefined || existsSync(crashFile)) return { label: to };
      writeFileSync(crashFile, '');
      return process.exit(9);
    });
    const driver = await ctx.waitForSignal<{ name: string }>('picked up');
    const arrived = await ctx.step('deliver', () => {
      if (roadFile !== undefined && !existsSync(roadFile)) throw new FatalError('The road is closed.');
      return { by: driver.name };
    });
    return { delivered: true, ...arrived };
  },
});

export const description = 'Sends a parcel.';

export const example: Parcel = { to: 'Lisbon' };
