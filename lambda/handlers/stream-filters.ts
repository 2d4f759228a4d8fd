import { LISTS } from '../storage/dynamodb/lists.ts';
import { APPROVAL_KEY_PREFIX, HEAD_KEY } from '../storage/keys.ts';

const isThere = { S: [{ exists: true }] };

/** A head that is in the list by status: of every run but those that agents have just now, and tombstones. */
const LISTED_HEAD = {
  dynamodb: { Keys: { sk: { S: [HEAD_KEY] } }, NewImage: { [LISTS.status.group]: isThere } },
};

/** An approval that is due at some moment, as is each of which people are still to be told. */
const DUE_APPROVAL = {
  dynamodb: { Keys: { sk: { S: [{ prefix: APPROVAL_KEY_PREFIX }] } }, NewImage: { [LISTS.due.group]: isThere } },
};

/**
 * For the functions on the table's stream, the patterns of which a record has to match one: all that they act on does, and
 * little else. What is left out costs no invocation.
 * https://docs.aws.amazon.com/lambda/latest/dg/with-ddb-filtering.html
 */
export const STREAM_FILTERS: { readonly resume: readonly object[]; readonly notify: readonly object[] } = {
  resume: [LISTED_HEAD],
  notify: [LISTED_HEAD, DUE_APPROVAL],
};
