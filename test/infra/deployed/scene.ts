import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkpointStore } from '../../../lambda/dynamodb.ts';
import { cachedFolder } from '../../cached-folder.ts';
import { dynamoClient, s3Client } from '../../engines/engines.ts';
import { type Account, openAccount } from './account.ts';
import type { Caller } from './api-gateway.ts';
import { type Assembly, readAssembly, synthesize } from './assembly.ts';
import type { OpenSandbox } from './lambda-process.ts';
import { allOf, resolveTemplate, type Template } from './resolve.ts';
import { STACKS } from './stacks.ts';
import type { Engines } from './storage.ts';

type StackName = keyof typeof STACKS;

const open: Account[] = [];
let openSandbox: OpenSandbox | undefined;

/** Runs the functions of all further accounts in these processes. */
export const runFunctionsIn = (sandbox: OpenSandbox): void => {
  openSandbox = sandbox;
};

/** The assembly of all stacks. It is synthesized again when a source has changed. */
export const assembled = async (): Promise<Assembly> =>
  readAssembly(
    await cachedFolder({
      name: 'assemblies',
      sources: [
        'cdk.json',
        '{infra,lambda,examples}/**/*.{ts,json}',
        'test/infra/deployed/{stacks.ts,assembly.ts,agents/*}',
      ],
      make: (folder) => synthesize(STACKS, folder),
    }),
  );

/** Deploys a stack into a new account; `edit` changes its template first. */
export async function deploy(stack: StackName, edit = (template: Template): Template => template): Promise<Account> {
  const name = `${stack}-${process.pid}-${Date.now().toString(36)}-${open.length}`;
  const target = { name, stackName: stack, region: 'us-east-1', accountId: '111122223333' };
  const assembly = await assembled();
  const deployed = resolveTemplate(edit(assembly.templateOf(stack)), target);
  const account = await openAccount(deployed, assembly, await engines(), openSandbox);
  open.push(account);
  return account;
}

/** All accounts; they stay open until `closeAll`. */
export const accounts = (): readonly Account[] => open;

export async function closeAll(): Promise<void> {
  await Promise.all(open.map((account) => account.close()));
}

async function engines(): Promise<Engines> {
  const [dynamodb, s3] = await Promise.all([dynamoClient(), s3Client()].map(engineOf));
  if (!dynamodb || !s3) throw new Error('Both engines must be running.');
  return { dynamodb, s3 };
}

async function engineOf({ config }: ReturnType<typeof dynamoClient> | ReturnType<typeof s3Client>) {
  const { protocol, hostname, port } = (await config.endpoint?.()) ?? {};
  const { accessKeyId, secretAccessKey } = await config.credentials();
  return { endpoint: `${protocol}//${hostname}:${port}`, region: await config.region(), accessKeyId, secretAccessKey };
}

/** The role with this construct id, as a caller. */
export function callerOf({ deployed }: Account, id: string): Caller {
  const found = allOf(deployed, 'AWS::IAM::Role').find(({ path }) => path.endsWith(`/${id}`));
  if (!found) throw new Error(`The template has no role ${id}.`);
  return { role: found.ref };
}

/** Sends a JSON request to the API for IAM callers. */
export async function api(account: Account, method: string, path: string, caller?: Caller, body?: object) {
  const response = await account.http({
    method,
    url: `${account.deployed.outputs.WaitstateApiUrl}${path}`,
    caller,
    ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  return {
    status: response.statusCode,
    json: response.body === '' ? undefined : JSON.parse(response.body),
    headers: response.headers,
  };
}

/** The status of a run in the table. */
export async function statusOf({ storage }: Account, run: string, tenant = 'default'): Promise<string | undefined> {
  const [[table = ''] = [], [bucket = ''] = []] = [[...storage.tables.keys()], [...storage.buckets.keys()]];
  const clients = { dynamoDBClient: storage.client, s3Client: storage.s3 };
  return (await checkpointStore({ table, bucket, tenant, ...clients }).describe(run))?.status;
}

/** The side effects that a function recorded in a file. */
export function readNotes<Line>(account: Account, label: string, file: string): readonly Line[] {
  const path = join(account.folderOf(label), file);
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}
