import { Aws } from 'aws-cdk-lib';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { IBucket } from 'aws-cdk-lib/aws-s3';
import { escapeId } from '../lambda/core/ids.ts';
import { LISTS } from '../lambda/storage/dynamodb/lists.ts';
import { shardGroup, TOKEN_PARTITION_PREFIX } from '../lambda/storage/keys.ts';
import type { ListName } from '../lambda/storage/ports.ts';
import { acknowledgeWildcards } from './acknowledge.ts';
import type { ResolvedProps } from './resolved-props.ts';

/** The table and bucket of the runs, and the KMS keys that encrypt them. */
export interface StorageResources {
  readonly table: ITable;
  readonly bucket: IBucket;
  /** Encrypt table and bucket at rest. */
  readonly encryptionKeys: readonly IKey[];
  /** Encrypted table and bucket in the past; objects written then are still under these keys. */
  readonly retiredEncryptionKeys: readonly IKey[];
  readonly runKey: IKey | undefined;
  /** Wrapped the keys of runs in the past. */
  readonly retiredRunKeys: readonly IKey[];
}

/** Collects the storage of a Waitstate, with the keys of an existing table or bucket. */
export function storageResources(table: ITable, bucket: IBucket, props: ResolvedProps): StorageResources {
  const { encryptionKey, retiredEncryptionKeys, runKey, retiredRunKeys } = props;
  const keys = [encryptionKey, table.encryptionKey, bucket.encryptionKey];
  const encryptionKeys = new Set(keys.filter((key): key is IKey => key !== undefined));
  return { table, bucket, encryptionKeys: [...encryptionKeys], retiredEncryptionKeys, runKey, retiredRunKeys };
}

/** The actions that a role may perform on the storage. */
export interface Access {
  readonly table: readonly ('GetItem' | 'BatchGetItem' | 'Query' | 'PutItem' | 'DeleteItem')[];
  /** Whether it creates or reads approval links, whose records belong to no tenant. */
  readonly usesLinks: boolean;
  readonly lists: readonly ListName[];
  readonly objects: readonly ('GetObject' | 'PutObject' | 'AbortMultipartUpload' | 'DeleteObject')[];
  readonly runKey: readonly ('Encrypt' | 'Decrypt')[];
}

const RECORDS = ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'DeleteItem'] as const;
const PAYLOADS = ['GetObject', 'PutObject', 'AbortMultipartUpload'] as const;

/**
 * Saves and loads checkpoints, requests approvals and waits, for agents. It queries no index and deletes no payload.
 */
export const SAVE: Access = {
  table: RECORDS,
  usesLinks: false,
  lists: [],
  objects: PAYLOADS,
  runKey: ['Encrypt', 'Decrypt'],
};

/** Executes runs as an agent does, which includes notifications with approval links. */
export const RUN: Access = { ...SAVE, usesLinks: true };

/** Lists, shows and changes runs, as the API does. */
export const SERVE: Access = { ...RUN, lists: ['status', 'owner', 'due'] };

/** Claims an existing run on behalf of an agent. */
export const CLAIM: Access = { ...SAVE, runKey: ['Decrypt'] };

/** Sends notifications about approvals and delegations that it reads by key, and removes decided ones from the inboxes. */
export const NOTIFY: Access = {
  table: ['GetItem', 'BatchGetItem', 'PutItem', 'DeleteItem'],
  usesLinks: true,
  lists: [],
  objects: ['GetObject'],
  runKey: ['Decrypt'],
};

/** Processes everything that is due, and deletes expired runs. */
export const SWEEP: Access = {
  ...CLAIM,
  usesLinks: true,
  lists: ['due'],
  objects: [...PAYLOADS, 'DeleteObject'],
};

/** Every action of the command line. */
export const ADMINISTER: Access = { ...SERVE, objects: [...PAYLOADS, 'DeleteObject'] };

/** Counts runs. */
export const COUNT: Access = { table: [], usesLinks: false, lists: ['status', 'due'], objects: [], runKey: [] };

/**
 * Grants exactly this access to the runs of these tenants, or of all tenants if none are given. The partition of a run
 * starts with its tenant. The partition of an approval link starts with `@token` and can be read only by token.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/specifying-conditions.html
 */
export function grantAccess(
  grantee: IGrantable,
  { table, bucket, encryptionKeys, retiredEncryptionKeys, runKey, retiredRunKeys }: StorageResources,
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
    dynamodbActions(access.table),
    [table.tableArn],
    prefixes && leadingKeys([...prefixes, ...(access.usesLinks ? [`${TOKEN_PARTITION_PREFIX}*`] : [])]),
  );
  for (const list of access.lists) {
    const groups = list === 'due' ? [shardGroup('*')] : prefixes;
    allow(dynamodbActions(['Query']), [`${table.tableArn}/index/${LISTS[list].index}`], groups && leadingKeys(groups));
  }
  if (access.objects.length > 0) {
    const objects = (prefixes ?? ['*']).map((prefix) => bucket.arnForObjects(prefix));
    allow(
      access.objects.map((action) => `s3:${action}`),
      objects,
    );
    acknowledgeWildcards(
      grantee.grantPrincipal,
      objects,
      'Payloads have random names under the prefix of their tenant and run.',
    );
    allow(['s3:ListBucket'], [bucket.bucketArn], prefixes && { StringLike: { 's3:prefix': prefixes } });
  }
  const services = { StringEquals: { 'kms:ViaService': [viaService('dynamodb'), viaService('s3')] } };
  const isReader = !access.table.includes('PutItem') && !access.objects.includes('PutObject');
  for (const { keyArn } of encryptionKeys) allow(isReader ? KEY_TO_READ : KEY_TO_WRITE, [keyArn], services);
  for (const { keyArn } of retiredEncryptionKeys) allow(KEY_TO_READ, [keyArn], services);
  const allowRunKey = (key: IKey, actions: Access['runKey']) =>
    allow(
      actions.map((action) => `kms:${action}`),
      [key.keyArn],
      tenants && { StringEquals: { 'kms:EncryptionContext:tenant': tenants.map(toPolicyText) } },
    );
  if (runKey) allowRunKey(runKey, access.runKey);
  for (const key of retiredRunKeys)
    allowRunKey(
      key,
      access.runKey.filter((action) => action === 'Decrypt'),
    );
  return grants.reduce((all, grant) => all.combine(grant));
}

/** A tenant as text in a policy. https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html */
function toPolicyText(tenant: string): string {
  if (/^[ -\xff]+$/.test(tenant) && !tenant.includes('${')) return tenant;
  throw new Error(
    `With \`runKey\`, a tenant must consist of characters that an IAM policy accepts, from space to ÿ and without \${; found "${tenant}". Rename the tenant.`,
  );
}

type Conditions = Record<string, Record<string, unknown>>;

const dynamodbActions = (actions: readonly string[]) => actions.map((action) => `dynamodb:${action}`);

/** Limits requests to partition keys with these patterns. `Null` also denies requests without any key. */
const leadingKeys = (patterns: readonly string[]): Conditions => ({
  'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': patterns },
  Null: { 'dynamodb:LeadingKeys': 'false' },
});

/** The value of `kms:ViaService` for a service. */
export const viaService = (service: string): string => `${service}.${Aws.REGION}.${Aws.URL_SUFFIX}`;

/** The KMS actions that DynamoDB and S3 perform on behalf of their caller, to read. */
export const KEY_TO_READ = ['kms:Decrypt', 'kms:DescribeKey'];
const KEY_TO_WRITE = [...KEY_TO_READ, 'kms:Encrypt', 'kms:GenerateDataKey', 'kms:ReEncryptFrom', 'kms:ReEncryptTo'];
