import { randomUUID } from 'node:crypto';
import { contextFactory } from '../lambda/checkpoints/context-factory.ts';
import type { AgentFunctions } from '../lambda/handlers/agent-functions.ts';
import { createApiHandler, type HttpResponse } from '../lambda/handlers/factories/create-api-handler.ts';
import { createGaugeHandler } from '../lambda/handlers/factories/create-gauge-handler.ts';
import { createNotifyHandler } from '../lambda/handlers/factories/create-notify-handler.ts';
import { createResumeHandler } from '../lambda/handlers/factories/create-resume-handler.ts';
import { createSweepHandler, type SweepResponse } from '../lambda/handlers/factories/create-sweep-handler.ts';
import { STREAM_FILTERS } from '../lambda/handlers/stream-filters.ts';
import type { StreamRecord } from '../lambda/handlers/stream-records.ts';
import type { AgentOptions, AnyAgent } from '../lambda/index.ts';
import type { Metric, Telemetry } from '../lambda/runtime/telemetry.ts';
import type { Storage } from '../lambda/storage/ports.ts';
import { matching } from '../test/engines/matching.ts';
import { TickingClock } from './ticking-clock.ts';

/** What a deployment did, apart from requests to its storage. */
export interface Activity {
  /** Stream records, and how many of them pass the filter of each function on the stream. */
  streamed: number;
  resume: number;
  notify: number;
  /** Invocations of agents: to run, and to notify approvers. */
  runs: number;
  notifications: number;
  /** Requests to the HTTP API. */
  requests: number;
  /** Events on the bus, and messages to the topic. */
  events: number;
  messages: number;
}

export const NO_ACTIVITY: Activity = {
  streamed: 0,
  resume: 0,
  notify: 0,
  runs: 0,
  notifications: 0,
  requests: 0,
  events: 0,
  messages: 0,
};

/** The sum of two activities. */
export function addActivity(one: Activity, other: Activity): Activity {
  const names = Object.keys(NO_ACTIVITY) as (keyof Activity)[];
  return Object.fromEntries(names.map((name) => [name, one[name] + other[name]])) as unknown as Activity;
}

/** The storage and agents of a deployment, and hooks to observe it. */
export interface DeploymentOptions {
  readonly storage: Storage;
  /** Returns the records of the table's stream since the last call. */
  readonly nextRecords: () => Promise<StreamRecord[]>;
  readonly agents: readonly AnyAgent[];
  /** The writer that the run history shows. */
  readonly writer: string;
  /** Called for each request to Lambda; must call `work`. @default calls `work` */
  readonly onInvoke?: (work: () => Promise<void>) => Promise<void>;
  /** Called with each metric that a handler writes. @default ignores it */
  readonly onMetric?: (metric: Metric) => void;
}

const APPROVAL_URL = 'https://approvals.example.com/approvals/';
const FUNCTION_MS = 15 * 60_000;

/**
 * Runs all handlers and agents in this process on a virtual clock. Stream records go to the functions on the stream, and
 * each invocation starts without cached state, as in a new process. Events and messages are only counted.
 */
export function createDeployment(options: DeploymentOptions) {
  const { storage, nextRecords, agents, writer, onInvoke = (work) => work(), onMetric = () => {} } = options;
  const telemetry = strictTelemetry(onMetric);
  const clock = new TickingClock(Date.parse('2026-11-17T12:00:00Z'));
  let activity = { ...NO_ACTIVITY };
  const queue: (() => Promise<unknown>)[] = [];
  const agentOptions = { storage, clock, writer, log: () => {}, approvalUrl: APPROVAL_URL } satisfies AgentOptions;
  const byName = new Map(agents.map((agent) => [agent.name, agent]));

  const invoke = (name: string, event: object): Promise<unknown> => {
    const agent = byName.get(name);
    if (!agent) throw new Error(`Expected an agent of this deployment; found "${name}".`);
    const context = { awsRequestId: randomUUID(), getRemainingTimeInMillis: () => FUNCTION_MS };
    return agent.with(agentOptions).handler()(event, context);
  };
  const functions: AgentFunctions = {
    invokeAsync: (name, event) =>
      onInvoke(async () => {
        activity.runs += 1;
        queue.push(() => invoke(name, event));
      }),
    invokeAndWait: (name, event) =>
      onInvoke(async () => {
        activity.notifications += 1;
        await invoke(name, event);
      }),
  };

  const contexts = contextFactory(storage, { clock: () => clock.now(), writer });
  const shared = {
    contexts,
    clock,
    functions,
    telemetry,
    signedUrls: undefined,
    approvalUrl: APPROVAL_URL,
    agents: new Map(agents.map(({ name }) => [name, { function: name, hydrate: false }])),
    async publish({ text }: { readonly text?: object }) {
      activity.events += 1;
      if (text) activity.messages += 1;
    },
  };
  const onStream = { resume: createResumeHandler(shared), notify: createNotifyHandler(shared) };
  const sweep = createSweepHandler(shared);
  const gauge = createGaugeHandler({ records: storage.records, tenants: ['default'], telemetry, clock });
  const serve = createApiHandler({ ...shared, identify: () => undefined });

  return {
    clock,
    /** An agent on this deployment's storage, for a tenant, as in a new process. */
    at: <A extends AnyAgent>(agent: A, tenant?: string): A =>
      agent.with({ ...agentOptions, ...(tenant !== undefined && { tenant }) }) as A,
    /** Returns the activity since the last call. */
    take(): Activity {
      const taken = activity;
      activity = { ...NO_ACTIVITY };
      return taken;
    },
    /** Handles stream records and invocations until none are left and all runs are suspended or ended. */
    async flow(): Promise<void> {
      for (;;) {
        const records = await nextRecords();
        if (records.length === 0 && queue.length === 0) return;
        activity.streamed += records.length;
        for (const name of ['notify', 'resume'] as const) {
          const Records = records.filter(matching(STREAM_FILTERS[name]));
          activity[name] += Records.length;
          if (Records.length > 0) await onStream[name]({ Records });
        }
        for (const run of queue.splice(0)) await run();
      }
    },
    gauge,
    sweep: () => sweep({}) as Promise<SweepResponse>,
    /** Sends a request to an approval link; throws unless the response is 200. */
    async link(method: 'GET' | 'POST', url: string, body?: object): Promise<HttpResponse> {
      activity.requests += 1;
      const response = await serve(toHttpEvent(method, url, body));
      const { statusCode } = response;
      if (statusCode !== 200)
        throw new Error(`Expected status 200 from the approval link; found ${statusCode}: ${response.body}`);
      return response;
    },
  };
}

export type Deployment = ReturnType<typeof createDeployment>;

/** Throws on an error in the log, because a failed request must not be counted as if it had succeeded. */
const strictTelemetry = (count: Telemetry['count']): Telemetry => ({
  log(level, message, fields) {
    if (level === 'error') throw new Error(`${message} ${JSON.stringify(fields)}`);
  },
  count,
  runInvocation: (run) => run(),
});

/** A request as API Gateway passes it to the function. */
function toHttpEvent(method: string, url: string, body?: object) {
  const { pathname: rawPath, host } = new URL(url);
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath,
    rawQueryString: '',
    isBase64Encoded: false,
    headers: { 'content-type': 'application/json', host },
    requestContext: { domainName: host, http: { method, path: rawPath } },
    ...(body && { body: JSON.stringify(body) }),
  };
}
