import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { contextFactory } from '../../lambda/checkpoints/context-factory.ts';
import type { KeyRing } from '../../lambda/checkpoints/encryption/key-ring.ts';
import type { HandlerName } from '../../lambda/environment/names.ts';
import { lambdaFunctions } from '../../lambda/handlers/agent-functions.ts';
import type { AgentTarget } from '../../lambda/handlers/agents.ts';
import { createApiHandler } from '../../lambda/handlers/factories/create-api-handler.ts';
import { createCheckpointHandler } from '../../lambda/handlers/factories/create-checkpoint-handler.ts';
import { createNotifyHandler } from '../../lambda/handlers/factories/create-notify-handler.ts';
import { createResumeHandler } from '../../lambda/handlers/factories/create-resume-handler.ts';
import {
  type CollectResponse,
  createSweepHandler,
  type SweepResponse,
} from '../../lambda/handlers/factories/create-sweep-handler.ts';
import { publishEvents } from '../../lambda/handlers/publish-events.ts';
import { STREAM_FILTERS } from '../../lambda/handlers/stream-filters.ts';
import type { BatchResponse, StreamEvent, StreamRecord } from '../../lambda/handlers/stream-records.ts';
import type { Identify } from '../../lambda/http/caller.ts';
import type { Metric, Telemetry } from '../../lambda/runtime/telemetry.ts';
import { dynamoRecordStore } from '../../lambda/storage/dynamodb/dynamo-records.ts';
import { s3PayloadStore } from '../../lambda/storage/s3/s3-payloads.ts';
import { s3SignedUrls } from '../../lambda/storage/s3/signed-urls.ts';
import { TestClock } from '../../lambda/testing.ts';
import { dynamoClient, freshBucket, freshTable, s3Client } from '../engines/engines.ts';
import { matching } from '../engines/matching.ts';
import { streamOf } from '../engines/table-stream.ts';

/** A function that the Lambda of a scene invokes. */
type Invoked = (event: never) => Promise<unknown>;

/** Everything that the handlers sent. */
interface Sent {
  readonly invocations: { name: string; type: string; event: Record<string, unknown> }[];
  readonly events: { bus: string; type: string; detail: Record<string, unknown> }[];
  readonly messages: { topic: string; subject: string; message: string }[];
}

export interface SceneOptions {
  /** @default { refunds: refunds-fn, quotes: quotes-fn with hydrate } */
  readonly agents?: Readonly<Record<string, AgentTarget>>;
  readonly keys?: KeyRing;
  /** Whether there are a bus and a topic. @default true */
  readonly publishes?: boolean;
  /** @default no caller is accepted; approval links need none */
  readonly identify?: Identify;
  /** @default no cross-site requests */
  readonly origins?: readonly string[];
  /** Whether the stream filters apply. @default false: stream handlers receive all records */
  readonly filtered?: boolean;
  /** How far the clock of the handlers is ahead of the table's. @default 0 */
  readonly clockAheadMs?: number;
  /** @default collects logs and counts metrics in memory */
  readonly telemetry?: (handler: HandlerName) => Telemetry;
}

const AGENTS = {
  refunds: { function: 'refunds-fn', hydrate: false },
  quotes: { function: 'quotes-fn', hydrate: true },
};

/** All handlers on the local engines, with a fake Lambda, bus and topic that record what they receive. */
export async function handlerScene(options: SceneOptions = {}) {
  const { agents = AGENTS, keys, publishes = true, filtered = false, clockAheadMs = 0 } = options;
  const { identify = () => undefined } = options;
  const counts = new Map<Metric, number>();
  const logged: string[] = [];
  const recording: Telemetry = {
    log: (level, message, fields) => void logged.push(JSON.stringify({ level, message, ...fields })),
    count: (metric, value = 1) => void counts.set(metric, (counts.get(metric) ?? 0) + value),
    runInvocation: (run) => run(),
  };
  const telemetryFor = options.telemetry ?? (() => recording);
  const client: DynamoDBClient = dynamoClient();
  const s3 = s3Client();
  const { endpoint, region, credentials } = s3.config;
  const [table, bucket] = await Promise.all([freshTable(client), freshBucket(s3)]);
  const nextRecords = await streamOf(client, table);
  const clock = new TestClock(Date.parse('2026-03-01T10:00:00Z'));
  const storage = {
    records: dynamoRecordStore({ table, client, clock: () => Date.now() + clockAheadMs }),
    payloads: s3PayloadStore({ bucket, client: s3 }),
  };
  const contexts = contextFactory(storage, { clock: () => clock.now(), writer: 'scene', ...(keys && { keys }) });
  const sent: Sent = { invocations: [], events: [], messages: [] };
  const behind = new Map<string, Invoked>();
  const failing = new Map<string, Error>();
  const queue: (() => Promise<unknown>)[] = [];

  const lambda = {
    async send({ input }: { input: { FunctionName: string; InvocationType: string; Payload: Uint8Array } }) {
      const { FunctionName: name, InvocationType: type, Payload } = input;
      const event = JSON.parse(Buffer.from(Payload).toString());
      const failure = failing.get(name) ?? failing.get('*');
      if (failure) throw failure;
      sent.invocations.push({ name, type, event });
      const run = async () => behind.get(name)?.(event as never);
      if (type === 'Event') {
        queue.push(run);
        return { StatusCode: 202 };
      }
      return run().then(
        () => ({ StatusCode: 200 }),
        () => ({ StatusCode: 200, FunctionError: 'Unhandled' }),
      );
    },
  };
  const bridge = {
    async send({ input }: { input: { Entries: { EventBusName: string; DetailType: string; Detail: string }[] } }) {
      if (failing.has('bus')) throw failing.get('bus');
      for (const { EventBusName, DetailType, Detail } of input.Entries)
        sent.events.push({ bus: EventBusName, type: DetailType, detail: JSON.parse(Detail) });
      return { FailedEntryCount: 0 };
    },
  };
  const sns = {
    async send({ input }: { input: { TopicArn: string; Subject: string; Message: string } }) {
      if (failing.has('topic')) throw failing.get('topic');
      sent.messages.push({ topic: input.TopicArn, subject: input.Subject, message: input.Message });
      return {};
    },
  };

  const shared = {
    contexts,
    clock,
    agents: new Map(Object.entries(agents)),
    functions: lambdaFunctions(lambda as never),
    signedUrls: s3SignedUrls({
      bucket,
      config: { ...(endpoint && { endpoint }), region, credentials, forcePathStyle: true },
    }),
    approvalUrl: 'https://approve.test/approvals',
    publish: publishes
      ? publishEvents({ bus: 'bus', topic: 'topic', events: bridge as never, sns: sns as never })
      : undefined,
  };
  const onStream =
    (handler: keyof typeof STREAM_FILTERS, handle: (event: StreamEvent) => Promise<BatchResponse>) =>
    (event: StreamEvent) =>
      handle(filtered ? { Records: event.Records.filter(matching(STREAM_FILTERS[handler])) } : event);
  const resume = onStream('resume', createResumeHandler({ ...shared, telemetry: telemetryFor('resume') }));
  const notify = onStream('notify', createNotifyHandler({ ...shared, telemetry: telemetryFor('notify') }));
  const sweep = createSweepHandler({ ...shared, telemetry: telemetryFor('sweep') });

  /** Passes new stream records to both stream handlers and runs the invoked functions, until nothing is left. */
  async function flow(): Promise<BatchResponse['batchItemFailures']> {
    const failed: { readonly itemIdentifier: string }[] = [];
    for (;;) {
      const Records = await nextRecords();
      if (Records.length === 0 && queue.length === 0) return failed;
      for (const handle of [notify, resume]) failed.push(...(await handle({ Records })).batchItemFailures);
      for (const run of queue.splice(0)) await run();
    }
  }

  return {
    counts,
    logged,
    storage,
    contexts,
    clock,
    table,
    bucket,
    sent,
    behind,
    failing,
    queue,
    shared,
    nextRecords,
    flow,
    resume,
    notify,
    sweep: (event: object = {}) => sweep(event) as Promise<SweepResponse>,
    collect: (tenants?: readonly string[]) =>
      createSweepHandler({ ...shared, tenants, telemetry: telemetryFor('sweep') })({
        collect: true,
      }) as Promise<CollectResponse>,
    api: createApiHandler({ ...shared, identify, corsOrigins: options.origins ?? [], telemetry: telemetryFor('api') }),
    checkpoint: createCheckpointHandler({ ...shared, telemetry: telemetryFor('checkpoint') }) as (
      event: unknown,
    ) => Promise<ProtocolResponse>,
  };
}

/** The fields of a protocol response that tests check. */
interface ProtocolResponse {
  readonly ok: boolean;
  readonly version: number;
  readonly error: { readonly code: string; readonly message: string };
  readonly checkpoint: {
    readonly version: number;
    readonly status: string;
    readonly state: { readonly shot: { readonly $: readonly string[] } };
    readonly toolResults: Readonly<Record<string, unknown>>;
  };
  readonly signals: readonly { readonly value: string }[];
  readonly url: string;
  readonly contentUrl: string;
  readonly [field: string]: unknown;
}

export type HandlerScene = Awaited<ReturnType<typeof handlerScene>>;

/** A request to an approval link as API Gateway passes it on. */
export const linkEvent = (method: string, token: string, body?: string, more: object = {}) =>
  httpEvent(method, `/approvals/${token}`, { ...(body !== undefined && { body }), ...more });

/** A request as API Gateway passes it on; `rawPath` is decoded. */
export function httpEvent(method: string, path: string, more: object = {}) {
  const [rawPath = '', rawQueryString = ''] = path.split('?');
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath,
    rawQueryString,
    isBase64Encoded: false,
    headers: { 'content-type': 'application/json', host: 'approve.test' },
    requestContext: {
      http: { method, path: rawPath, sourceIp: '203.0.113.7' },
      stage: '$default',
      domainName: 'approve.test',
    },
    ...more,
  };
}

/** The context of a Lambda invocation. */
export const lambdaContext = (awsRequestId = 'request-1') => ({
  awsRequestId,
  getRemainingTimeInMillis: () => 900_000,
});

/** The stream records of heads. */
export const headsIn = (records: readonly StreamRecord[]): readonly StreamRecord[] =>
  records.filter(({ dynamodb }) => Object(dynamodb?.NewImage).sk?.S === 'cz');
