import { type Duration, toPositiveMs } from '../../core/duration.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import type { Person } from '../../core/person.ts';
import type { CheckpointFields, ModelParameters } from '../checkpoint.ts';

/** The fields of a save, besides the state. */
export interface SaveFields extends CheckpointFields {
  /** Tool results by call id; they are added to those of the run. */
  readonly toolResults?: Readonly<Record<string, unknown>> | undefined;
  /** Removes these tool results from the run, or all earlier ones. */
  readonly forgetToolResults?: true | readonly string[] | undefined;
  readonly model?: ModelParameters | undefined;
  readonly agent?: string | undefined;
  readonly owner?: string | undefined;
  /** The person who requested the run, such as `user:ann`; only on the first save. */
  readonly requestedBy?: Person | undefined;
  readonly tags?: readonly string[] | undefined;
  /** How long the run is kept after its last write. @default the retention of the store */
  readonly retention?: Duration | undefined;
}

/** Rejects anything but text of 1 to `maxCharacters` characters. */
export const checkText = (field: string, value: unknown, maxCharacters = 256): void =>
  checkField(field, value, `text of 1 to ${maxCharacters} characters`, isText(value, maxCharacters));

/** Rejects a field that is given and invalid. */
export function checkField(field: string, value: unknown, expected: string, isValid: boolean): void {
  if (value !== undefined && !isValid) throw invalidInput(`\`${field}\``, expected, value);
}

/** A retention in milliseconds; rejects an invalid one. */
export const toRetentionMs = (retention: Duration | undefined): number | undefined =>
  toPositiveMs('`retention`', retention);

/** Whether a value is text of 1 to `maxCharacters` characters. */
export const isText = (value: unknown, maxCharacters: number): boolean =>
  typeof value === 'string' && value !== '' && value.length <= maxCharacters;

export const isRecord = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
