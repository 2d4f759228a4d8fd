import { describe, expect, it } from 'vitest';
import { permissionsOf } from './permissions.ts';
import { allOptions, functionOf, grantAll, stackOf, withAgents } from './stacks.ts';
import { StackTemplate, testApp } from './template.ts';

const sorted = (table: Readonly<Record<string, readonly string[]>>) =>
  Object.fromEntries(Object.entries(table).map(([role, lines]) => [role, [...lines].sort()]));

// The permissions for the logs of every function that Waitstate creates.
const logs = (group: string) => `logs:{CreateLogStream,PutLogEvents} on ${group}`;
const BASIC = 'managed arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole';
const NETWORK =
  'ec2:{AssignPrivateIpAddresses,CreateNetworkInterface,DeleteNetworkInterface,DescribeNetworkInterfaces,DescribeSubnets,UnassignPrivateIpAddresses} on *';
const STREAM = [
  'dynamodb:ListStreams on *',
  'dynamodb:{DescribeStream,GetRecords,GetShardIterator} on Table.StreamArn',
];
const DESCRIBES_STACK =
  'cloudformation:DescribeStacks on arn:<AWS::Partition>:cloudformation:<AWS::Region>:<AWS::AccountId>:stack/Stack/*';
const DEAD_LETTERS = 'sqs:{GetQueueAttributes,GetQueueUrl,SendMessage} on DeadLetters';

const keys = (...patterns: string[]) =>
  `[ForAllValues:StringLike dynamodb:LeadingKeys ${patterns.join(' ')}, Null dynamodb:LeadingKeys false]`;
const DUE = `dynamodb:Query on Table/index/due ${keys('due/*')}`;
const RECORDS = 'dynamodb:{BatchGetItem,DeleteItem,GetItem,PutItem,Query} on Table';
const NOTIFIED_RECORDS = 'dynamodb:{BatchGetItem,DeleteItem,GetItem,PutItem} on Table';

const WORK = [
  'POST /api/claims',
  'POST /api/runs/*/lease',
  'POST /api/runs/*/release',
  'GET /api/runs/*/load',
  ...['checkpoints', 'approvals', 'waits', 'finish', 'uploads'].map((path) => `POST /api/runs/*/${path}`),
].map((route) => `execute-api:Invoke on HttpApi: ${route}`);

describe('the permissions of a Waitstate with an agent of each kind and no options', () => {
  const INVOKES = ['Agent-refunds', 'Legacy', 'Quotes'].map((name) => `lambda:InvokeFunction on ${name}`);
  const PAYLOADS = ['s3:{AbortMultipartUpload,GetObject,PutObject} on Bucket/*', 's3:ListBucket on Bucket'];
  const LISTS = [DUE, 'dynamodb:Query on Table/index/owner', 'dynamodb:Query on Table/index/status'];
  const REMOVES = ['s3:{AbortMultipartUpload,DeleteObject,GetObject,PutObject} on Bucket/*', 's3:ListBucket on Bucket'];

  const EXPECTED = {
    ApiRole: [logs('ApiLog'), RECORDS, ...LISTS, ...PAYLOADS],
    CheckpointRole: [logs('CheckpointLog'), RECORDS, ...PAYLOADS],
    GaugeRole: [logs('GaugeLog'), DUE, `dynamodb:Query on Table/index/status ${keys('default/*')}`],
    NotifyRole: [
      logs('NotifyLog'),
      ...STREAM,
      DEAD_LETTERS,
      NOTIFIED_RECORDS,
      's3:GetObject on Bucket/*',
      's3:ListBucket on Bucket',
      'events:PutEvents on Bus',
      'sns:Publish on Topic',
      ...INVOKES,
    ],
    ResumeRole: [logs('ResumeLog'), ...STREAM, DEAD_LETTERS, RECORDS, ...PAYLOADS, ...INVOKES],
    SweepRole: [
      logs('SweepLog'),
      RECORDS,
      DUE,
      ...REMOVES,
      'events:PutEvents on Bus',
      'sns:Publish on Topic',
      ...INVOKES,
    ],
    'Agent-refundsRole': [logs('Agent-refundsLog'), RECORDS, ...PAYLOADS, 'sqs:SendMessage on DeadLetters'],
    'Quotes/ServiceRole': [BASIC, RECORDS, ...PAYLOADS],
    'Legacy/ServiceRole': [BASIC, 'lambda:InvokeFunction on Checkpoint'],
    'Starter/ServiceRole': [BASIC, 'execute-api:Invoke on HttpApi: POST /api/runs'],
    'Portal/ServiceRole': [
      BASIC,
      'execute-api:Invoke on HttpApi: GET /api/me',
      'execute-api:Invoke on HttpApi: GET /api/approvals',
      'execute-api:Invoke on HttpApi: GET /api/runs/*/approvals/*',
      'execute-api:Invoke on HttpApi: GET /api/runs/*/approvals/*/payloads/*',
      'execute-api:Invoke on HttpApi: POST /api/runs/*/approvals/*/decide',
      'execute-api:Invoke on HttpApi: GET /api/delegations',
      'execute-api:Invoke on HttpApi: POST /api/delegations',
      'execute-api:Invoke on HttpApi: POST /api/delegations/*/end',
      'execute-api:Invoke on HttpApi: POST /api/approvals/decide',
    ],
    'Worker/ServiceRole': [BASIC, ...WORK],
    'Reader/ServiceRole': [
      BASIC,
      'execute-api:Invoke on HttpApi: GET /api/*',
      'execute-api:Invoke on HttpApi: GET /console',
      'execute-api:Invoke on HttpApi: GET /console/*',
    ],
    'Operator/ServiceRole': [
      BASIC,
      'execute-api:Invoke on HttpApi: * /api/*',
      'execute-api:Invoke on HttpApi: * /console',
      'execute-api:Invoke on HttpApi: * /console/*',
    ],
    'Storer/ServiceRole': [BASIC, RECORDS, ...PAYLOADS],
    'Administrator/ServiceRole': [
      BASIC,
      RECORDS.replace('DeleteItem,', 'DeleteItem,DescribeTable,DescribeTimeToLive,'),
      ...LISTS,
      ...REMOVES,
      DESCRIBES_STACK,
    ],
  };

  it('are exactly the expected ones', () => {
    const stack = stackOf();
    grantAll(withAgents(stack), stack);
    expect(permissionsOf(new StackTemplate(stack))).toEqual(sorted(EXPECTED));
  });

  it('are the same in an app without feature flags', () => {
    const off = Object.fromEntries(Object.keys(testApp().node.getAllContext()).map((flag) => [flag, false]));
    const stack = stackOf(testApp({ context: { ...off, 'aws:cdk:bundling-stacks': [] } }));
    grantAll(withAgents(stack), stack);
    expect(permissionsOf(new StackTemplate(stack))).toEqual(sorted(EXPECTED));
  });

  it('let only `notify` and `sweep` invoke the function that notifies approvers of an agent with workers', () => {
    const stack = stackOf();
    const waitstate = withAgents(stack, {}, []);
    waitstate.addWorkerAgent('orders', { notify: functionOf(stack, 'Mailer') });
    const permissions = permissionsOf(new StackTemplate(stack));
    const invokes = Object.keys(permissions).filter((role) =>
      permissions[role]?.includes('lambda:InvokeFunction on Mailer'),
    );
    expect(invokes.sort()).toEqual(['NotifyRole', 'SweepRole']);
    expect(permissions['Mailer/ServiceRole']).toEqual([BASIC]);
  });

  it('give `resume` no access to runs if no agent needs hydration', () => {
    const stack = stackOf();
    const waitstate = withAgents(stack, {}, ['quotes']);
    expect(waitstate.handlers.resume.node.id).toBe('Resume');
    expect(permissionsOf(new StackTemplate(stack)).ResumeRole).toEqual(
      [logs('ResumeLog'), ...STREAM, DEAD_LETTERS, 'lambda:InvokeFunction on Quotes'].sort(),
    );
  });
});

describe('the permissions of a Waitstate with tenants, keys and a network', () => {
  const VIA = ['dynamodb', 's3'].map((service) => `${service}.<AWS::Region>.<AWS::URLSuffix>`).join(' ');
  const AT_REST = `kms:{Decrypt,DescribeKey,Encrypt,GenerateDataKey,ReEncryptFrom,ReEncryptTo} on AtRest [StringEquals kms:ViaService ${VIA}]`;
  const AT_REST_TO_READ = `kms:{Decrypt,DescribeKey} on AtRest [StringEquals kms:ViaService ${VIA}]`;
  const TOPIC = [
    'sns:Publish on Topic',
    'kms:{Decrypt,GenerateDataKey} on AtRest [StringEquals kms:ViaService sns.<AWS::Region>.<AWS::URLSuffix>]',
  ];
  const ENCRYPTED_STREAM = [
    ...STREAM,
    'kms:{Decrypt,DescribeKey} on AtRest [StringEquals kms:ViaService dynamodb.<AWS::Region>.<AWS::URLSuffix>]',
  ];
  const INVOKES = ['Agent-refunds', 'Legacy', 'Own', 'Quotes', 'Their'].map(
    (name) => `lambda:InvokeFunction on ${name}`,
  );

  const recordsWithoutLinks = (...tenants: string[]) => `${RECORDS} ${keys(...tenants.map((each) => `${each}/*`))}`;
  const records = (...tenants: string[]) => `${RECORDS} ${keys(...tenants.map((each) => `${each}/*`), '@token/*')}`;
  const lists = (...tenants: string[]) =>
    ['owner', 'status'].map(
      (index) => `dynamodb:Query on Table/index/${index} ${keys(...tenants.map((each) => `${each}/*`))}`,
    );
  const objects = (actions: string, ...tenants: string[]) => [
    ...tenants.map((each) => `s3:${actions} on Bucket/${each}/*`),
    `s3:ListBucket on Bucket [StringLike s3:prefix ${tenants.map((each) => `${each}/*`).join(' ')}]`,
  ];
  const encrypted = (actions: string, ...tenants: string[]) => [
    AT_REST,
    ...['Runs', 'OldRuns'].map(
      (key) =>
        `kms:${key === 'Runs' ? actions : 'Decrypt'} on ${key} [StringEquals kms:EncryptionContext:tenant ${tenants.join(' ')}]`,
    ),
  ];
  const STORES = '{AbortMultipartUpload,GetObject,PutObject}';
  const REMOVES = '{AbortMultipartUpload,DeleteObject,GetObject,PutObject}';
  const BOTH = ['acme', 'globex'];
  const contents = (...tenants: string[]) => [
    ...objects(STORES, ...tenants),
    ...encrypted('{Decrypt,Encrypt}', ...tenants),
  ];
  const runs = (...tenants: string[]) => [records(...tenants), ...contents(...tenants)];
  const saves = (...tenants: string[]) => [recordsWithoutLinks(...tenants), ...contents(...tenants)];

  const EXPECTED = {
    ApiRole: [logs('ApiLog'), NETWORK, DUE, ...lists(...BOTH), ...runs(...BOTH)],
    CheckpointRole: [logs('CheckpointLog'), NETWORK, ...saves(...BOTH)],
    GaugeRole: [
      logs('GaugeLog'),
      NETWORK,
      DUE,
      AT_REST_TO_READ,
      `dynamodb:Query on Table/index/status ${keys('acme/*', 'globex/*')}`,
    ],
    NotifyRole: [
      logs('NotifyLog'),
      NETWORK,
      ...ENCRYPTED_STREAM,
      DEAD_LETTERS,
      'events:PutEvents on Bus',
      ...TOPIC,
      `${NOTIFIED_RECORDS} ${keys('acme/*', 'globex/*', '@token/*')}`,
      ...objects('GetObject', ...BOTH),
      ...encrypted('Decrypt', ...BOTH),
      ...INVOKES,
    ],
    ResumeRole: [
      logs('ResumeLog'),
      NETWORK,
      ...ENCRYPTED_STREAM,
      DEAD_LETTERS,
      recordsWithoutLinks(...BOTH),
      ...objects(STORES, ...BOTH),
      ...encrypted('Decrypt', ...BOTH),
      ...INVOKES,
    ],
    SweepRole: [
      logs('SweepLog'),
      NETWORK,
      DUE,
      'events:PutEvents on Bus',
      ...TOPIC,
      records(...BOTH),
      ...objects(REMOVES, ...BOTH),
      ...encrypted('Decrypt', ...BOTH),
      ...INVOKES,
    ],
    'Agent-refundsRole': [logs('Agent-refundsLog'), NETWORK, ...runs(...BOTH), 'sqs:SendMessage on DeadLetters'],
    'Quotes/ServiceRole': [BASIC, ...runs(...BOTH)],
    'Legacy/ServiceRole': [BASIC, 'lambda:InvokeFunction on Checkpoint'],
    'Own/ServiceRole': [BASIC, ...runs('acme')],
    'Their/ServiceRole': [BASIC, 'lambda:InvokeFunction on Checkpoint-globex'],
    'Checkpoint-globexRole': [logs('Checkpoint-globexLog'), NETWORK, ...saves('globex')],
    'Starter/ServiceRole': [BASIC, 'execute-api:Invoke on HttpApi: POST /api/runs'],
    'Portal/ServiceRole': [
      BASIC,
      'execute-api:Invoke on HttpApi: GET /api/me',
      'execute-api:Invoke on HttpApi: GET /api/approvals',
      'execute-api:Invoke on HttpApi: GET /api/runs/*/approvals/*',
      'execute-api:Invoke on HttpApi: GET /api/runs/*/approvals/*/payloads/*',
      'execute-api:Invoke on HttpApi: POST /api/runs/*/approvals/*/decide',
      'execute-api:Invoke on HttpApi: GET /api/delegations',
      'execute-api:Invoke on HttpApi: POST /api/delegations',
      'execute-api:Invoke on HttpApi: POST /api/delegations/*/end',
      'execute-api:Invoke on HttpApi: POST /api/approvals/decide',
    ],
    'Worker/ServiceRole': [BASIC, ...WORK],
    'Reader/ServiceRole': [
      BASIC,
      'execute-api:Invoke on HttpApi: GET /api/*',
      'execute-api:Invoke on HttpApi: GET /console',
      'execute-api:Invoke on HttpApi: GET /console/*',
    ],
    'Operator/ServiceRole': [
      BASIC,
      'execute-api:Invoke on HttpApi: * /api/*',
      'execute-api:Invoke on HttpApi: * /console',
      'execute-api:Invoke on HttpApi: * /console/*',
    ],
    'Storer/ServiceRole': [BASIC, ...runs('acme')],
    'Administrator/ServiceRole': [
      BASIC,
      records('acme'),
      ...lists('acme'),
      ...objects(REMOVES, 'acme'),
      ...encrypted('{Decrypt,Encrypt}', 'acme'),
      DESCRIBES_STACK,
      'dynamodb:{DescribeTable,DescribeTimeToLive} on Table',
    ],
  };

  it('are exactly the expected ones', () => {
    const stack = stackOf();
    const waitstate = withAgents(stack, allOptions(stack));
    waitstate.addAgent('own', { function: functionOf(stack, 'Own'), tenant: 'acme' });
    waitstate.addAgent('their', { function: functionOf(stack, 'Their'), tenant: 'globex', hydrate: true });
    grantAll(waitstate, stack, { tenant: 'acme' });
    expect(permissionsOf(new StackTemplate(stack))).toEqual(sorted(EXPECTED));
  });
});
