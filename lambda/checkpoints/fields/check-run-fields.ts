import { escapeId } from '../../core/ids.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import { checkPerson } from '../../core/person.ts';
import { nameKey } from '../../storage/keys.ts';
import type { LoadedCheckpoint } from '../loaded-checkpoint.ts';
import { checkVersion } from '../read-head.ts';
import { checkField, isRecord, isText, type SaveFields, toRetentionMs } from './save-fields.ts';

// Metadata is written and read with every list, and a record can hold at most 400 KB.
const MAX_META_CHARACTERS = 16_384;
const META_LIMIT = `at most ${MAX_META_CHARACTERS} characters as JSON`;
const fitsMeta = (value: unknown): boolean => JSON.stringify(value).length <= MAX_META_CHARACTERS;

/** Rejects invalid names and properties of a run, which most saves do not have. */
export function checkRunFields({ labels, owner, requestedBy, tags, retention, name, parent }: SaveFields): void {
  const hasValidLabels =
    isRecord(labels) && Object.values(labels).every((label) => typeof label === 'string') && fitsMeta(labels);
  checkField('labels', labels, `an object whose values are text, ${META_LIMIT}`, hasValidLabels);
  const hasValidTags = Array.isArray(tags) && tags.every((tag) => isText(tag, 256)) && fitsMeta(tags);
  checkField('tags', tags, `a list of texts, ${META_LIMIT}`, hasValidTags);
  toRetentionMs(retention);
  if (owner !== undefined) escapeId('owner', owner);
  if (requestedBy !== undefined) checkPerson('`requestedBy`', requestedBy);
  if (name !== undefined) nameKey(name);
  if (parent !== undefined) {
    escapeId('parent run', parent.run);
    checkVersion(parent.version, 'The version of the parent');
  }
}

/** Rejects what only the first save of a run can set. */
export function checkNotFirstOnly({ parent, requestedBy }: SaveFields, { head }: LoadedCheckpoint): void {
  if (parent) throw invalidInput('`parent`', 'given with the first save of a run only', parent);
  if (requestedBy !== undefined && requestedBy !== head.meta.requestedBy)
    throw invalidInput('`requestedBy`', 'given with the first save of a run only', requestedBy);
}
