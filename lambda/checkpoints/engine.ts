// The front door of the checkpoint store: everything that higher layers may import. Operations for operators are in
// `operations/operations.ts`, which is loaded on first use.

export { append, createBase, toBase } from './append.ts';
export type {
  Checkpoint,
  CheckpointFields,
  CheckpointId,
  CheckpointKind,
  CheckpointSummary,
  ModelParameters,
  RunOutcome,
  RunSummary,
} from './checkpoint.ts';
export type { HeadChange } from './commit.ts';
export {
  currentState,
  decodeOptions,
  decodeResult,
  decodeResults,
  EMPTY_CONTENT,
  encodeModel,
  encodeValues,
  hasNoState,
  nextSchemaVersion,
  savedState,
  toCheckpoint,
} from './content.ts';
export type { Context, RunContext } from './context.ts';
export { type CheckpointStoreOptions, type ContextFactory, contextFactory } from './context-factory.ts';
export { toRunContext, withoutAgentCode, withTenant } from './derived-contexts.ts';
export { decode } from './document/decode.ts';
export {
  type Doc,
  equal,
  type Fields,
  isContainer,
  isFields,
  isList,
  type List,
  partOf,
  plainHeight,
  put,
  specialOf,
  type TypeCodec,
  type TypeCodecs,
  verbatimPart,
} from './document/document.ts';
export { encode } from './document/encode.ts';
export { parse } from './document/parse.ts';
export { type PayloadRef, payloadRefs, readPayloadRef } from './document/payloads.ts';
export { ANY_TYPE } from './document/unknown-instance.ts';
export { applyEdit, type Draft, type Edit } from './draft.ts';
export { cipherFor, importRunKey } from './encryption/cipher-for.ts';
export { type KeyContext, type KeyRing, localKeys, type WrappedKey } from './encryption/key-ring.ts';
export { plaintext, type RunCipher } from './encryption/run-cipher.ts';
export { checkSaveFields } from './fields/check-save-fields.ts';
export { type SaveFields, toRetentionMs } from './fields/save-fields.ts';
export { decryptBody } from './format/chain.ts';
export { hasExpired, withExpiry } from './format/expiring-record.ts';
export {
  type HeadKeyFields,
  type HeadMeta,
  isUnreadable,
  type RuntimeMeta,
  readObjectMeta,
} from './format/meta.ts';
export {
  type CheckpointRecord,
  type HeadRecord,
  headRecord,
  isLeased,
  MAX_LEASED_DUE_MS,
  randomId,
  readCheckpoint,
  readHead,
  toCheckpointSummary,
} from './format/records.ts';
export type { Schema, SchemaVersion } from './format/schema.ts';
export {
  decryptText,
  encryptText,
  metaOnlyRecord,
  sideMeta,
  sideRecord,
  sideText,
  sideValue,
  withMeta,
} from './format/side-record.ts';
export { type HistoryOptions, history } from './lists/history.ts';
export { mergeSorted } from './lists/merge-sorted.ts';
export { type ListedRun, listRuns, type RunFilter, scanRuns, toRunSummary } from './lists/runs.ts';
export { firstRecords, scanPages, scanRecords } from './lists/scan.ts';
export { loadCheckpoint } from './load.ts';
export type { CheckpointSelector, LoadedCheckpoint } from './loaded-checkpoint.ts';
export type { CollectResult } from './operations/collect.ts';
export type { FailedRun, SweepResult, TenantScopeOptions } from './operations/delete.ts';
export type { Difference } from './operations/diff.ts';
export type { PruneOptions, PruneResult } from './operations/prune.ts';
export type { ForkOptions } from './operations/time-travel.ts';
export type { Problem, Verification } from './operations/verify.ts';
export {
  isPayload,
  type Payload,
  type PayloadContent,
  type PayloadOptions,
  payload,
  storedPayload,
} from './payload.ts';
export { checkLive, checkVersion, readLiveHead, readNewest } from './read-head.ts';
export { retryOnConflict } from './retry-on-conflict.ts';
export { damagedError, runNotFound } from './run-errors.ts';
export { findEarlierWrite, type SaveInput, save } from './save.ts';
export { StaleVersionError } from './stale-version-error.ts';
export { tryCommit } from './try-commit.ts';
export type { UpdateFields } from './update.ts';
export { writeEach } from './write-each.ts';
