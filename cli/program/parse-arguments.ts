import { InvalidArgumentError } from 'commander';
import type { CheckpointSelector } from '../../lambda/checkpoints/engine.ts';
import { STATUSES, type Status } from '../../lambda/core/status.ts';
import { tryParseDuration } from '../terminal/times.ts';

/** Reads a whole number from 1. */
export function parsePositiveInteger(text: string): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(number) && number > 0) return number;
  throw new InvalidArgumentError('It must be a whole number from 1.');
}

/** Reads a TCP port; 0 is any that is free. */
export function parsePort(text: string): number {
  if (/^\d+$/.test(text) && Number(text) < 65_536) return Number(text);
  throw new InvalidArgumentError('It must be a number from 0 to 65535.');
}

/** Reads a length of time such as `90s` or `3d`, in milliseconds. */
export function parseDuration(text: string): number {
  const length = tryParseDuration(text);
  if (length !== undefined) return length;
  throw new InvalidArgumentError('It must be a length of time such as 90s, 15m, 1h30m or 3d.');
}

/** Reads a moment: a date, or a length of time before now. */
export function parseTime(text: string): Date {
  const before = tryParseDuration(text);
  const time = before === undefined ? new Date(text) : new Date(Date.now() - before);
  if (!Number.isNaN(time.getTime())) return time;
  throw new InvalidArgumentError('It must be a date such as 2026-03-12T10:00:00Z, or how long ago, such as 2h.');
}

/** Reads one more text of several. */
export const appendValue = (text: string, before: readonly string[] = []): readonly string[] => [...before, text];

/** Reads statuses, in any case, separated by commas. */
export function parseStatuses(text: string, before: readonly Status[] = []): readonly Status[] {
  const read = text.split(',').map((part) => {
    const status = STATUSES.find((each) => each === part.trim().toUpperCase().replaceAll('-', '_'));
    if (status) return status;
    throw new InvalidArgumentError(`It must be one of ${STATUSES.join(', ')}.`);
  });
  return [...before, ...read];
}

/** Reads which checkpoint: a version, or the name of one. */
export const parseCheckpoint = (text: string): CheckpointSelector =>
  /^[1-9]\d*$/.test(text) ? Number(text) : { name: text };
