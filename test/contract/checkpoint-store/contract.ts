import { afterAll, beforeAll, describe } from 'vitest';
import type { Storage } from '../../../lambda/storage/ports.ts';
import { chainsContract } from './chains.ts';
import { collectingContract } from './collecting.ts';
import { contentionContract } from './contention.ts';
import { deletingContract } from './deleting.ts';
import { diffingContract } from './diffing.ts';
import { encryptedPayloadsContract } from './encrypted-payloads.ts';
import { encryptionContract } from './encryption.ts';
import { fieldsContract } from './fields.ts';
import { forkingContract } from './forking.ts';
import { historyContract } from './history.ts';
import { migrationsContract } from './migrations.ts';
import { namesContract } from './names.ts';
import { payloadsContract } from './payloads.ts';
import { pruningContract } from './pruning.ts';
import { retentionContract } from './retention.ts';
import { runListsContract } from './run-lists.ts';
import { savingContract } from './saving.ts';
import { shreddingContract } from './shredding.ts';
import { statusesContract } from './statuses.ts';
import { type OpenStores, storesOn } from './stores.ts';
import { sweepingContract } from './sweeping.ts';
import { tenantsContract } from './tenants.ts';
import { travellingContract } from './travelling.ts';
import { updatingContract } from './updating.ts';
import { valuesContract } from './values.ts';
import { verifyingContract } from './verifying.ts';
import { writeIdsContract } from './write-ids.ts';

const CONTRACTS: readonly ((open: OpenStores) => void)[] = [
  savingContract,
  writeIdsContract,
  fieldsContract,
  namesContract,
  statusesContract,
  valuesContract,
  chainsContract,
  updatingContract,
  contentionContract,
  historyContract,
  runListsContract,
  diffingContract,
  forkingContract,
  travellingContract,
  pruningContract,
  deletingContract,
  retentionContract,
  sweepingContract,
  payloadsContract,
  collectingContract,
  verifyingContract,
  encryptionContract,
  shreddingContract,
  encryptedPayloadsContract,
  migrationsContract,
  tenantsContract,
];

/** The contract of a checkpoint store on any storage; all tests share one storage, and each has its own tenant. */
export function checkpointStoreContract(name: string, openStorage: () => Promise<Storage> | Storage): void {
  describe(`a checkpoint store on ${name}`, () => {
    let storage: Storage;
    beforeAll(async () => {
      storage = await openStorage();
    });
    afterAll(() => Promise.all([storage.records.close(), storage.payloads.close()]));
    for (const contract of CONTRACTS) contract(() => storesOn(storage));
  });
}
