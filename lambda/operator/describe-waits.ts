import type { Status } from '../core/status.ts';

/** A status in words: `waiting for approval`. */
export const describeStatus = (status: Status): string => status.toLowerCase().replaceAll('_', ' ');

const WORDS: Readonly<Record<string, string>> = { call: 'child run', sleep: 'timer', retry: 'next attempt of' };

/** What a run waits for, in words: `waiting for child run billing`. Without names, the status says it. */
export function describeWaits(waits: string | undefined, status: Status): string {
  if (waits === undefined || waits === '') return describeStatus(status);
  if (/^sleep [^,]*$/.test(waits)) return waits;
  return `waiting for ${waits.replace(/(^|, )(call|sleep|retry) /g, (_, comma, kind) => `${comma}${WORDS[kind]} `)}`;
}

/** Whether a run waits only for child runs; its status is the one of a run that waits for a signal. */
export const waitsForChildren = (waits: string | undefined): boolean =>
  waits?.split(', ').every((name) => name.startsWith('call ')) === true;
