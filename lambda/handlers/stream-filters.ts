import { LISTS } from '../storage/dynamodb/lists.ts';
import { APPROVAL_KEY_PREFIX, HEAD_KEY } from '../storage/keys.ts';

const EXISTS = { S: [{ exists: true }] };

/** A head in the status index: that of every run except leased runs and tombstones. */
const LISTED_HEAD = {
  dynamodb: { Keys: { sk: { S: [HEAD_KEY] } }, NewImage: { [LISTS.status.group]: EXISTS } },
};

/** An approval with a due time, which includes each one with a pending notification. */
const DUE_APPROVAL = {
  dynamodb: { Keys: { sk: { S: [{ prefix: APPROVAL_KEY_PREFIX }] } }, NewImage: { [LISTS.due.group]: EXISTS } },
};

/**
 * The filter patterns of the stream handlers; a record must match one of them. They match every record that the handler
 * acts on and few others, which saves invocations.
 * https://docs.aws.amazon.com/lambda/latest/dg/with-ddb-filtering.html
 */
export const STREAM_FILTERS: { readonly resume: readonly object[]; readonly notify: readonly object[] } = {
  resume: [LISTED_HEAD],
  notify: [LISTED_HEAD, DUE_APPROVAL],
};
