import { dueGroup } from '../keys.ts';
import type { RecordStore, StoredRecord } from '../ports.ts';

/**
 * Records whose lists hold only what is at its own place: of the tenant whose list it is, or of the shard of what is due.
 * What keeps a writer to its tenant, such as IAM, looks at partitions; a place is just what the writer says.
 */
export const tenantSafeLists = <Records extends Pick<RecordStore, 'list'>>(records: Records): Records => ({
  ...records,
  async list(list, group, options) {
    const page = await records.list(list, group, options);
    const [tenant] = group.split('/');
    const belongsToGroup = ({ partition }: StoredRecord): boolean =>
      list === 'due' ? dueGroup(partition) === group : partition.startsWith(`${tenant}/`);
    return { ...page, records: page.records.filter(belongsToGroup) };
  },
});
