import { dueGroup } from '../keys.ts';
import type { RecordStore, StoredRecord } from '../ports.ts';

/**
 * A record store whose lists leave out records of other tenants, or of other shards of the due list. Access control
 * such as IAM restricts writers by partition only, so a writer could put any group into a list entry.
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
