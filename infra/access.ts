import { Aws } from 'aws-cdk-lib';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { IBucket } from 'aws-cdk-lib/aws-s3';
import { shardGroup } from '../lambda/checkpoints/format/records.ts';
import { escapeId } from '../lambda/core/ids.ts';
import { TOKEN_PARTITION_PREFIX } from '../lambda/runtime/approvals/tokens.ts';
import { LISTS } from '../lambda/storage/dynamodb/lists.ts';
import type { ListName } from '../lambda/storage/ports.ts';
import { acknowledgeWildcards } from './acknowledge.ts';
import type { ResolvedProps } from './resolved-props.ts';

/** Where runs are kept, and under which keys. */
export interface StorageResources {
  readonly table: ITable;
  readonly bucket: IBucket;
  /** Those that encrypt the two at rest. */
  readonly encryptionKeys: readonly IKey[];
  /** Those that did so before: what was written then is under them. */
  readonly retiredEncryptionKeys: readonly IKey[];
  readonly runKey: IKey | undefined;
  /** Those that wrapped runs before. */
  readonly retiredRunKeys: readonly IKey[];
}

export function storageResources(table: ITable, bucket: IBucket, props: ResolvedProps): StorageResources {
  const { encryptionKey, retiredEncryptionKeys: retiredAtRest, runKey, retiredRunKeys } = props;
  const keys = [encryptionKey, table.encryptionKey, bucket.encryptionKey];
  const atRest = new Set(keys.filter((key): key is IKey => key !== undefined));
  return { table, bucket, runKey, retiredRunKeys, retiredEncryptionKeys: retiredAtRest, encryptionKeys: [...atRest] };
}

/** What somebody does with what is kept. */
export interface Access {
  readonly table: readonly ('GetItem' | 'BatchGetItem' | 'Query' | 'PutItem' | 'DeleteItem')[];
  /** Whether it makes or opens links, which are kept beside the tenants. */
  readonly usesLinks: boolean;
  readonly lists: readonly ListName[];
  readonly objects: readonly ('GetObject' | 'PutObject' | 'AbortMultipartUpload' | 'DeleteObject')[];
  readonly runKey: readonly ('Encrypt' | 'Decrypt')[];
}

const RECORDS = ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'DeleteItem'] as const;
const PAYLOADS = ['GetObject', 'PutObject', 'AbortMultipartUpload'] as const;

/** Saves and loads checkpoints, asks and waits, for agents. It lists nothing and removes no payload. */
export const SAVE: Access = {
  ...{ table: RECORDS, usesLinks: false, lists: [], objects: PAYLOADS },
  runKey: ['Encrypt', 'Decrypt'],
};

/** Does that itself, and tells people: what an agent does. */
export const RUN: Access = { ...SAVE, usesLinks: true };

/** Looks at runs, and changes them from outside. */
export const SERVE: Access = { ...RUN, lists: ['status', 'owner', 'due'] };

/** Claims a run that exists, for somebody else. */
export const CLAIM: Access = { ...SAVE, runKey: ['Decrypt'] };

/** Tells people of approvals, by their keys: it looks for nothing. One that is over by then leaves the inboxes. */
export const NOTIFY: Access = {
  table: ['GetItem', 'PutItem', 'DeleteItem'],
  usesLinks: true,
  lists: [],
  objects: ['GetObject'],
  runKey: ['Decrypt'],
};

/** Finds what is due, and removes what is over. */
export const SWEEP: Access = {
  ...CLAIM,
  usesLinks: true,
  lists: ['due'],
  objects: [...PAYLOADS, 'DeleteObject'],
};

/** Everything that there is to do. */
export const ADMINISTER: Access = { ...SERVE, objects: [...PAYLOADS, 'DeleteObject'] };

/** Counts runs. */
export const COUNT: Access = { table: [], usesLinks: false, lists: ['status', 'due'], objects: [], runKey: [] };

/**
 * Lets somebody do that, and nothing else, with the runs of these tenants; without any, with those of all. A partition
 * begins with its tenant; that of a link with `@token`, and who does not know the token finds none.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/specifying-conditions.html
 */
export function grantAccess(
  grantee: IGrantable,
  {
    table,
    bucket,
    encryptionKeys: atRest,
    retiredEncryptionKeys: retiredAtRest,
    runKey,
    retiredRunKeys,
  }: StorageResources,
  access: Access,
  tenants: readonly string[] | undefined,
): Grant {
  const prefixes = tenants?.map((tenant) => `${escapeId('tenant', tenant)}/*`);
  const grants: Grant[] = [];
  const allow = (actions: readonly string[], resourceArns: string[], conditions?: Conditions): void => {
    if (actions.length === 0) return;
    grants.push(
      Grant.addToPrincipal({ grantee, actions: [...actions], resourceArns, ...(conditions && { conditions }) }),
    );
  };

  allow(
    dynamodb(access.table),
    [table.tableArn],
    prefixes && leadingKeys([...prefixes, ...(access.usesLinks ? [`${TOKEN_PARTITION_PREFIX}*`] : [])]),
  );
  for (const list of access.lists) {
    const groups = list === 'due' ? [shardGroup('*')] : prefixes;
    allow(dynamodb(['Query']), [`${table.tableArn}/index/${LISTS[list].index}`], groups && leadingKeys(groups));
  }
  if (access.objects.length > 0) {
    const objects = (prefixes ?? ['*']).map((prefix) => bucket.arnForObjects(prefix));
    allow(
      access.objects.map((action) => `s3:${action}`),
      objects,
    );
    acknowledgeWildcards(grantee.grantPrincipal, objects, 'Payloads have random names below their tenant and run.');
    allow(['s3:ListBucket'], [bucket.bucketArn], prefixes && { StringLike: { 's3:prefix': prefixes } });
  }
  const services = { StringEquals: { 'kms:ViaService': [viaService('dynamodb'), viaService('s3')] } };
  const isReader = !access.table.includes('PutItem') && !access.objects.includes('PutObject');
  for (const { keyArn } of atRest) allow(isReader ? KEY_TO_READ : KEY_TO_WRITE, [keyArn], services);
  for (const { keyArn } of retiredAtRest) allow(KEY_TO_READ, [keyArn], services);
  const onKey = (key: IKey, actions: Access['runKey']) =>
    allow(
      actions.map((action) => `kms:${action}`),
      [key.keyArn],
      tenants && { StringEquals: { 'kms:EncryptionContext:tenant': tenants.map(inPolicy) } },
    );
  if (runKey) onKey(runKey, access.runKey);
  for (const key of retiredRunKeys)
    onKey(
      key,
      access.runKey.filter((action) => action === 'Decrypt'),
    );
  return grants.reduce((all, grant) => all.combine(grant));
}

/** A tenant as a policy says it. https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html */
function inPolicy(tenant: string): string {
  if (/^[ -\xff]+$/.test(tenant) && !tenant.includes('${')) return tenant;
  throw new Error(
    `Where runs are sealed, a tenant must be of letters that a policy of IAM can have, up to ÿ and without \${; found "${tenant}".`,
  );
}

type Conditions = Record<string, Record<string, unknown>>;

const dynamodb = (actions: readonly string[]) => actions.map((action) => `dynamodb:${action}`);

/** A request that names no key at all is refused, too. */
const leadingKeys = (patterns: readonly string[]): Conditions => ({
  'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': patterns },
  Null: { 'dynamodb:LeadingKeys': 'false' },
});

/** What `kms:ViaService` calls a service. */
export const viaService = (service: string): string => `${service}.${Aws.REGION}.${Aws.URL_SUFFIX}`;

/** What DynamoDB and S3 do in the name of who calls them. */
export const KEY_TO_READ = ['kms:Decrypt', 'kms:DescribeKey'];
const KEY_TO_WRITE = [...KEY_TO_READ, 'kms:Encrypt', 'kms:GenerateDataKey', 'kms:ReEncryptFrom', 'kms:ReEncryptTo'];
