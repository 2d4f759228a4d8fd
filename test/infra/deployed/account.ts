import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HANDLERS } from '../../../lambda/environment/names.ts';
import { apiGateway, type HttpRequest } from './api-gateway.ts';
import type { Assembly } from './assembly.ts';
import { eventSourcesOf } from './event-source.ts';
import { type DeployedFunction, environmentOf, functionsOf } from './functions.ts';
import { type KeyOwner, openGateway } from './gateway.ts';
import { type InvocationOutcome, type OpenSandbox, openSandbox, type Sandbox } from './lambda-process.ts';
import type { AccessRequest } from './policy.ts';
import { allOf, type Deployed } from './resolve.ts';
import { Roles } from './roles.ts';
import { scheduledEvent } from './schedule.ts';
import { cloudFormation } from './services/cloud-formation.ts';
import { dynamodb } from './services/dynamodb.ts';
import { kms } from './services/kms.ts';
import { lambda } from './services/lambda.ts';
import { eventBridge, type SentMessages, sns, topicKeys } from './services/messages.ts';
import { s3 } from './services/s3.ts';
import { type Engines, makeStorage } from './storage.ts';

/** An invocation of a function: its event and its outcome. */
export interface Invocation extends InvocationOutcome {
  readonly label: string;
  readonly event: unknown;
}

export interface HttpAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly isBase64Encoded?: boolean;
}

/**
 * A simulated AWS account with a deployed stack: table and bucket on the local engines, functions as processes, and a
 * gateway in front of all services that enforces the roles. Topics and buses only record messages, and KMS is a fake.
 */
export async function openAccount(
  deployed: Deployed,
  assembly: Assembly,
  engines: Engines,
  open: OpenSandbox = openSandbox,
) {
  const { region, accountId } = deployed.target;
  const roles = new Roles(deployed);
  const functions = functionsOf(deployed, assembly);
  const storage = await makeStorage(deployed, engines);
  const folder = mkdtempSync(join(tmpdir(), 'waitstate-account-'));
  const sent: SentMessages = { messages: [], events: [], isBusDown: false };
  const invocations: Invocation[] = [];
  const deadLetters: { readonly from: string; readonly what: unknown }[] = [];
  const queue: { readonly name: string; readonly event: unknown }[] = [];
  /** Warm processes by function, which the next invocations use, as on Lambda. */
  const idle = new Map<DeployedFunction, Sandbox[]>(functions.map((each) => [each, []]));
  let aheadMs = 0;

  const named = (name: string): DeployedFunction => {
    const found = functions.find((each) => each.name === name || each.label === name);
    if (!found) throw new Error(`No function is named ${name}; found ${functions.map((each) => each.label)}.`);
    return found;
  };
  const roleOwners = allOf(deployed, 'AWS::IAM::Role').map(({ ref, path }) => {
    const label = path.split('/').at(-1) ?? path;
    return { label, name: label, role: ref };
  });
  const keys = new Map<string, KeyOwner>(
    [...functions, ...roleOwners].map((each, at) => [`ASIA${String(at).padStart(16, '0')}`, each]),
  );
  const gateway = await openGateway({
    roles,
    accountId,
    ownerOf: (key) => keys.get(key),
    now: () => Date.now() + aheadMs,
    services: {
      cloudformation: cloudFormation(deployed),
      dynamodb: dynamodb(engines.dynamodb, storage.tables, region),
      s3: s3(engines.s3, storage.buckets, region),
      lambda: lambda({
        arnOf: (name) => named(name).arn,
        later: (name, event) => void queue.push({ name, event }),
        now: (name, event) => invoke(name, event),
      }),
      sns: sns(sent, topicKeys(deployed), region),
      events: eventBridge(sent, (name) => `arn:aws:events:${region}:${accountId}:event-bus/${name}`),
      kms: kms(allOf(deployed, 'AWS::KMS::Key').map(({ arn }) => arn)),
    },
  });

  /** Checks the actions that Lambda itself performs with the role of a function. */
  const asLambda = (role: string, ...wanted: AccessRequest[]): void => {
    for (const each of wanted)
      if (!roles.isAllowed(role, each))
        throw new Error(`${role} must allow ${each.action} on ${each.resource}, which Lambda needs.`);
  };

  /** Starts a process for a function with its deployed environment. */
  function sandboxOf(each: DeployedFunction) {
    const [accessKeyId = ''] = [...keys].find(([, owner]) => owner === each) ?? [];
    const own = join(folder, each.name);
    mkdirSync(own, { recursive: true });
    const environment = environmentOf(each, {
      region,
      accessKeyId,
      endpoint: gateway.endpoint,
      folder: own,
    });
    return open({ ...each, environment });
  }

  const contextOf = ({ name, arn, memoryMB, logGroup }: DeployedFunction, awsRequestId: string) => ({
    awsRequestId,
    functionName: name,
    functionVersion: '$LATEST',
    invokedFunctionArn: arn,
    memoryLimitInMB: String(memoryMB),
    logGroupName: logGroup,
    logStreamName: 'stream',
  });

  async function invoke(name: string, event: unknown, requestId: string = randomUUID()): Promise<Invocation> {
    const each = named(name);
    const group = `arn:aws:logs:${region}:${accountId}:log-group:${each.logGroup}`;
    asLambda(
      each.role,
      { action: 'logs:CreateLogStream', resource: `${group}:log-stream:stream` },
      { action: 'logs:PutLogEvents', resource: `${group}:log-stream:stream` },
    );
    const sandbox = idle.get(each)?.pop() ?? sandboxOf(each);
    const outcome = await sandbox.invoke(event, contextOf(each, requestId), aheadMs);
    if (sandbox.isAlive()) idle.get(each)?.push(sandbox);
    if (gateway.faults.length > 0) throw gateway.faults[0];
    const invocation = { label: each.label, event, ...outcome };
    invocations.push(invocation);
    return invocation;
  }

  /** Ends the warm processes of these functions, so that their next invocations are cold. */
  const coolDown = (which: (each: DeployedFunction) => boolean = () => true): Promise<unknown> =>
    Promise.all(
      [...idle].filter(([each]) => which(each)).flatMap(([, sandboxes]) => sandboxes.splice(0).map(({ end }) => end())),
    );

  /** An asynchronous invocation: retried with the same request id, then sent to the dead-letter queue. */
  async function invokeLater({ name, event }: { readonly name: string; readonly event: unknown }): Promise<Invocation> {
    const { label, role, retries, deadLetters: queueArn } = named(name);
    const requestId = randomUUID();
    for (let tries = 0; ; tries++) {
      const invocation = await invoke(name, event, requestId);
      if (!invocation.error) return invocation;
      if (tries < retries) continue;
      if (queueArn) {
        asLambda(role, { action: 'sqs:SendMessage', resource: queueArn });
        deadLetters.push({ from: label, what: event });
      }
      return invocation;
    }
  }

  const sources = eventSourcesOf(deployed);

  /** Delivers new stream records and runs the invoked functions, until nothing is left. */
  async function flow(): Promise<void> {
    for (let isFirst = true; ; isFirst = false) {
      const records = await storage.nextRecords();
      // Records that failed before are tried once more in each flow.
      const isRetry = isFirst && sources.some((source) => source.isRetrying());
      if (records.length === 0 && queue.length === 0 && !isRetry) return;
      await Promise.all(
        sources.map((source) => {
          const { role, label } = named(source.function);
          const reading = ['DescribeStream', 'GetShardIterator', 'GetRecords'];
          asLambda(role, { action: 'dynamodb:ListStreams', resource: '*' });
          asLambda(role, ...reading.map((action) => ({ action: `dynamodb:${action}`, resource: source.stream })));
          return source.deliver(
            records,
            Date.now() + aheadMs,
            (event) => invoke(source.function, event),
            (record) => {
              asLambda(role, { action: 'sqs:SendMessage', resource: source.deadLetters ?? '' });
              deadLetters.push({ from: label, what: record });
            },
          );
        }),
      );
      for (const each of queue.splice(0)) await invokeLater(each);
    }
  }

  const route = apiGateway(deployed, roles);

  return {
    deployed,
    functions,
    roles,
    storage,
    sent,
    invocations,
    deadLetters,
    flow,
    invoke,
    named,
    sandboxOf,
    coolDown,
    contextOf,
    calls: gateway.calls,
    /** The environment in which a program calls this account with the role of this construct id. */
    environmentOfRole(label: string): Record<string, string> {
      const [accessKeyId] = [...keys].find(([, owner]) => owner.label === label && roleOwners.includes(owner)) ?? [];
      if (accessKeyId === undefined) throw new Error(`The template has no role ${label}.`);
      return {
        AWS_REGION: region,
        AWS_ACCESS_KEY_ID: accessKeyId,
        AWS_SECRET_ACCESS_KEY: 'secret',
        AWS_ENDPOINT_URL: gateway.endpoint,
        AWS_EC2_METADATA_DISABLED: 'true',
        AWS_CONFIG_FILE: '/dev/null',
        AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
      };
    },
    /** The folder that stands for /tmp of a function. */
    folderOf: (label: string): string => join(folder, named(label).name),
    /**
     * Moves the clock of all further invocations ahead. Functions of agents are then cold, and those of Waitstate stay
     * warm, as other runs would keep them.
     */
    async passTime(days: number): Promise<void> {
      aheadMs += days * 24 * 3_600_000;
      await coolDown((each) => !isHandler(each));
    },
    /** Sends a request to one of the HTTP APIs. */
    async http(request: HttpRequest): Promise<HttpAnswer> {
      const routed = route(request);
      if ('answer' in routed) return { headers: {}, ...routed.answer };
      const { result, error } = await invoke(routed.function, routed.event);
      if (error) return { statusCode: 500, headers: {}, body: '{"message":"Internal Server Error"}' };
      return result as HttpAnswer;
    },
    /** Invokes a function as its schedule does. */
    async tick(label: string, rule = 'Schedule'): Promise<Invocation> {
      const { name, arn } = named(label);
      return invokeLater({ name, event: scheduledEvent(deployed, arn, rule) });
    },
    async close(): Promise<void> {
      await coolDown();
      await gateway.close();
      storage.client.destroy();
      storage.s3.destroy();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const isHandler = ({ handler }: DeployedFunction): boolean => HANDLERS.some((name) => handler === `${name}.handler`);

export type Account = Awaited<ReturnType<typeof openAccount>>;
