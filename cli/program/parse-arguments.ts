import { InvalidArgumentError } from 'commander';
import type { CheckpointSelector } from '../../lambda/checkpoints/engine.ts';
import { STATUSES, type Status } from '../../lambda/core/status.ts';
import { tryParseDuration } from '../terminal/times.ts';

/** Parses a whole number of at least 1. */
export function parsePositiveInteger(text: string): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(number) && number > 0) return number;
  throw new InvalidArgumentError('It must be a whole number of at least 1.');
}

/** Parses a TCP port; 0 means any free port. */
export function parsePort(text: string): number {
  if (/^\d+$/.test(text) && Number(text) < 65_536) return Number(text);
  throw new InvalidArgumentError('It must be a number from 0 to 65535.');
}

/** Parses a duration such as `90s` or `3d` into milliseconds. */
export function parseDuration(text: string): number {
  const duration = tryParseDuration(text);
  if (duration !== undefined) return duration;
  throw new InvalidArgumentError('It must be a duration such as 90s, 15m, 1h30m or 3d.');
}

/** Parses a time: a date, or a duration before now. */
export function parseTime(text: string): Date {
  const age = tryParseDuration(text);
  const time = age === undefined ? new Date(text) : new Date(Date.now() - age);
  if (!Number.isNaN(time.getTime())) return time;
  throw new InvalidArgumentError(
    'It must be a date such as 2026-03-12T10:00:00Z, or a duration before now such as 2h.',
  );
}

/** Parses a time in the future: a date, or a duration from now. */
export function parseFutureTime(text: string): Date {
  const duration = tryParseDuration(text);
  const time = duration === undefined ? new Date(text) : new Date(Date.now() + duration);
  if (!Number.isNaN(time.getTime())) return time;
  throw new InvalidArgumentError('It must be a date such as 2026-03-12T10:00:00Z, or a duration from now such as 5d.');
}

/** Collects the values of an option that may be repeated. */
export const appendValue = (text: string, before: readonly string[] = []): readonly string[] => [...before, text];

/** Parses statuses in upper or lower case, separated by commas. */
export function parseStatuses(text: string, before: readonly Status[] = []): readonly Status[] {
  const statuses = text.split(',').map((part) => {
    const status = STATUSES.find((each) => each === part.trim().toUpperCase().replaceAll('-', '_'));
    if (status) return status;
    throw new InvalidArgumentError(`It must be one of ${STATUSES.join(', ')}.`);
  });
  return [...before, ...statuses];
}

/** Parses a step: its number, or its name. */
export const parseStep = (text: string): string | number => (/^\d{1,9}$/.test(text) ? Number(text) : text);

/** Parses a checkpoint: its version, or its name. */
export const parseCheckpoint = (text: string): CheckpointSelector =>
  /^[1-9]\d*$/.test(text) ? Number(text) : { name: text };
