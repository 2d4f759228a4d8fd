export type { KeyContext, KeyRing, WrappedKey } from './checkpoints/engine.ts';
export {
  type Condition,
  ConditionFailedError,
  type ListEntries,
  type ListName,
  type Page,
  type PageOptions,
  type PayloadStore,
  type RecordKey,
  type RecordStore,
  type Storage,
  type StoredPayload,
  type StoredRecord,
  type Write,
} from './storage/ports.ts';
