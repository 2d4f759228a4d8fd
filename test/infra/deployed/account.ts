import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apiGateway, type HttpRequest } from './api-gateway.ts';
import type { Assembly } from './assembly.ts';
import { eventSourcesOf } from './event-source.ts';
import { type DeployedFunction, environmentOf, functionsOf } from './functions.ts';
import { openGateway } from './gateway.ts';
import { type Answered, openSandbox } from './lambda-process.ts';
import type { AccessRequest } from './policy.ts';
import { allOf, type Deployed } from './resolve.ts';
import { Roles } from './roles.ts';
import { scheduledEvent } from './schedule.ts';
import { dynamodb } from './services/dynamodb.ts';
import { kms } from './services/kms.ts';
import { lambda } from './services/lambda.ts';
import { eventBridge, type SentMessages, sns, topicKeys } from './services/messages.ts';
import { s3 } from './services/s3.ts';
import { type Engines, makeStorage } from './storage.ts';
import { openTraces } from './traces.ts';

/** What a function was invoked with, how it went, and what it wrote to its log. */
export interface Invocation extends Answered {
  readonly label: string;
  readonly event: unknown;
  readonly lines: readonly string[];
}

export interface HttpAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly isBase64Encoded?: boolean;
}

/**
 * An account of AWS in which a stack is deployed: table and bucket on the engines, functions as processes, and in front of
 * all services a gateway that knows the roles. Topics and buses only note what they are told, and KMS is a stand-in.
 */
export async function openAccount(deployed: Deployed, assembly: Assembly, engines: Engines) {
  const { region, accountId } = deployed.place;
  const roles = new Roles(deployed);
  const functions = functionsOf(deployed, assembly);
  const storage = await makeStorage(deployed, engines);
  const traces = await openTraces();
  const folder = mkdtempSync(join(tmpdir(), 'waitstate-account-'));
  const said: SentMessages = { messages: [], events: [] };
  const invocations: Invocation[] = [];
  const deadLetters: { readonly from: string; readonly what: unknown }[] = [];
  const queue: { readonly name: string; readonly event: unknown }[] = [];
  let aheadMs = 0;

  const named = (name: string): DeployedFunction => {
    const found = functions.find((each) => each.name === name || each.label === name);
    if (!found) throw new Error(`No function is called ${name}; there are ${functions.map((each) => each.label)}.`);
    return found;
  };
  const keys = new Map(functions.map((each, at) => [`ASIA${String(at).padStart(16, '0')}`, each]));
  const gateway = await openGateway({
    ...{ roles, accountId, ownerOf: (key) => keys.get(key) },
    services: {
      dynamodb: dynamodb(engines.dynamodb, storage.tables, region),
      s3: s3(engines.s3, storage.buckets, region),
      lambda: lambda({
        arnOf: (name) => named(name).arn,
        later: (name, event) => void queue.push({ name, event }),
        now: (name, event) => invoke(name, event),
      }),
      sns: sns(said, topicKeys(deployed), region),
      events: eventBridge(said, (name) => `arn:aws:events:${region}:${accountId}:event-bus/${name}`),
      kms: kms(allOf(deployed, 'AWS::KMS::Key').map(({ arn }) => arn)),
    },
  });

  /** What Lambda itself does under the role of a function; it fails without a word where that is not allowed. */
  const asLambda = (role: string, ...wanted: AccessRequest[]): void => {
    for (const each of wanted)
      if (!roles.may(role, each))
        throw new Error(`${role} may not ${each.action} on ${each.resource}, as Lambda must.`);
  };

  /** A process for a function, with the environment that it is deployed with. */
  function sandboxOf(each: DeployedFunction) {
    const [accessKeyId = ''] = [...keys].find(([, owner]) => owner === each) ?? [];
    const own = join(folder, each.name);
    mkdirSync(own, { recursive: true });
    const environment = environmentOf(each, {
      ...{ region, accessKeyId, endpoint: gateway.endpoint, traces: traces.address, folder: own },
    });
    return openSandbox({ ...each, environment });
  }

  const contextOf = ({ name, arn, memoryMB, logGroup }: DeployedFunction, awsRequestId: string) => ({
    ...{ awsRequestId, functionName: name, functionVersion: '$LATEST', invokedFunctionArn: arn },
    ...{ memoryLimitInMB: String(memoryMB), logGroupName: logGroup, logStreamName: 'stream' },
    traceId: 'Root=1-67891233-abcdef012345678912345678;Parent=53995c3f42cd8ad8;Sampled=1',
  });

  async function invoke(name: string, event: unknown, requestId: string = randomUUID()): Promise<Invocation> {
    const each = named(name);
    const group = `arn:aws:logs:${region}:${accountId}:log-group:${each.logGroup}`;
    asLambda(
      each.role,
      { action: 'logs:CreateLogStream', resource: `${group}:log-stream:stream` },
      { action: 'logs:PutLogEvents', resource: `${group}:log-stream:stream` },
      ...(each.isTraced ? ['PutTraceSegments', 'PutTelemetryRecords'] : []).map((action) => ({
        ...{ action: `xray:${action}`, resource: '*' },
      })),
    );
    const sandbox = sandboxOf(each);
    const answered = await sandbox.invoke(event, contextOf(each, requestId), aheadMs);
    const lines = await sandbox.end();
    if (gateway.faults.length > 0) throw gateway.faults[0];
    const invocation = { label: each.label, event, lines, ...answered };
    invocations.push(invocation);
    return invocation;
  }

  /** An event that nobody waits for: tried again under the same id, then put to the dead letters. */
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

  /** Hands what is new in the stream to the functions on it, and runs what was invoked, until nothing happens. */
  async function flow(): Promise<void> {
    for (;;) {
      const records = await storage.nextRecords();
      if (records.length === 0 && queue.length === 0) return;
      await Promise.all(
        sources.map((source) => {
          const { role, label } = named(source.function);
          const reading = ['DescribeStream', 'GetShardIterator', 'GetRecords'];
          asLambda(role, { action: 'dynamodb:ListStreams', resource: '*' });
          asLambda(role, ...reading.map((action) => ({ action: `dynamodb:${action}`, resource: source.stream })));
          return source.deliver(
            records,
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
    ...{
      deployed,
      functions,
      roles,
      storage,
      said,
      invocations,
      deadLetters,
      flow,
      invoke,
      named,
      sandboxOf,
      contextOf,
    },
    ...{ calls: gateway.calls, segments: traces.segments },
    /** The folder that a function has to itself, as /tmp. */
    folderOf: (label: string): string => join(folder, named(label).name),
    /** Lets days pass for all that is invoked from now on. */
    passTime: (days: number): void => {
      aheadMs += days * 24 * 3_600_000;
    },
    /** A request to one of the HTTP APIs. */
    async http(request: HttpRequest): Promise<HttpAnswer> {
      const routed = route(request);
      if ('answer' in routed) return { headers: {}, ...routed.answer };
      const { result, error } = await invoke(routed.function, routed.event);
      if (error) return { statusCode: 500, headers: {}, body: '{"message":"Internal Server Error"}' };
      return result as HttpAnswer;
    },
    /** What the schedule of a function does when its time has come. */
    async tick(label: string): Promise<Invocation> {
      const { name, arn } = named(label);
      return invokeLater({ name, event: scheduledEvent(deployed, arn) });
    },
    async close(): Promise<void> {
      await Promise.all([gateway.close(), traces.close()]);
      storage.client.destroy();
      storage.s3.destroy();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type Account = Awaited<ReturnType<typeof openAccount>>;
