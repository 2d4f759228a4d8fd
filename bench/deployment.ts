import { randomUUID } from 'node:crypto';
import { contextFactory } from '../lambda/checkpoints/context-factory.ts';
import type { AgentFunctions } from '../lambda/handlers/agent-functions.ts';
import { createApiHandler, type HttpResponse } from '../lambda/handlers/api.ts';
import { createGaugeHandler } from '../lambda/handlers/gauge.ts';
import { createNotifyHandler } from '../lambda/handlers/notify.ts';
import { createResumeHandler } from '../lambda/handlers/resume.ts';
import { STREAM_FILTERS } from '../lambda/handlers/stream-filters.ts';
import type { StreamRecord } from '../lambda/handlers/stream-records.ts';
import { createSweepHandler, type SweepResponse } from '../lambda/handlers/sweep.ts';
import type { AgentOptions, AnyAgent } from '../lambda/index.ts';
import type { Metric, Telemetry } from '../lambda/runtime/telemetry.ts';
import type { Storage } from '../lambda/storage/ports.ts';
import { matching } from '../test/engines/matching.ts';
import { TickingClock } from './ticking-clock.ts';

/** What a deployment did beside asking its storage. */
export interface Activity {
  /** Records in the stream, and those of them that each function on it is invoked with. */
  streamed: number;
  resume: number;
  notify: number;
  /** Invocations of agents: to run, and to tell people. */
  runs: number;
  notifications: number;
  /** Requests to the HTTP API. */
  requests: number;
  /** Events on the bus, and messages to the topic. */
  events: number;
  messages: number;
}

export const NO_ACTIVITY: Activity = {
  ...{ streamed: 0, resume: 0, notify: 0, runs: 0, notifications: 0, requests: 0, events: 0, messages: 0 },
};

/** What was done in one part and in another. */
export function addActivity(one: Activity, other: Activity): Activity {
  const names = Object.keys(NO_ACTIVITY) as (keyof Activity)[];
  return Object.fromEntries(names.map((name) => [name, one[name] + other[name]])) as unknown as Activity;
}

/** What a deployment stands on. */
export interface DeploymentOptions {
  readonly storage: Storage;
  /** What the stream of the table has since the last time. */
  readonly nextRecords: () => Promise<StreamRecord[]>;
  readonly agents: readonly AnyAgent[];
  /** Who writes, as history shows it. */
  readonly writer: string;
  /** Sees each request to Lambda. @default nobody does */
  readonly onInvoke?: (work: () => Promise<void>) => Promise<void>;
  /** Sees the name of each metric that is written. @default nobody does */
  readonly onMetric?: (metric: Metric) => void;
}

const APPROVAL_URL = 'https://approvals.example.com/approvals/';
const FUNCTION_MS = 15 * 60_000;

/**
 * All handlers and agents in this process, on a clock that is moved: what the stream has goes to the functions on it,
 * and what they invoke is invoked, each time as in a new process. What goes to a bus or a topic is only counted.
 */
export function createDeployment(ground: DeploymentOptions) {
  const {
    storage,
    nextRecords,
    agents,
    writer,
    onInvoke: invoking = (work) => work(),
    onMetric: measuring = () => {},
  } = ground;
  const telemetry = strictly(measuring);
  const clock = new TickingClock(Date.parse('2026-11-17T12:00:00Z'));
  let done = { ...NO_ACTIVITY };
  const queue: (() => Promise<unknown>)[] = [];
  const place = { storage, clock, writer, log: () => {}, approvalUrl: APPROVAL_URL } satisfies AgentOptions;
  const byName = new Map(agents.map((agent) => [agent.name, agent]));

  const invoke = (name: string, event: object): Promise<unknown> => {
    const agent = byName.get(name);
    if (!agent) throw new Error(`No agent is called "${name}".`);
    const context = { awsRequestId: randomUUID(), getRemainingTimeInMillis: () => FUNCTION_MS };
    return agent.with(place).handler()(event, context);
  };
  const functions: AgentFunctions = {
    invokeAsync: (name, event) =>
      invoking(async () => {
        done.runs += 1;
        queue.push(() => invoke(name, event));
      }),
    invokeAndWait: (name, event) =>
      invoking(async () => {
        done.notifications += 1;
        await invoke(name, event);
      }),
  };

  const contexts = contextFactory(storage, { clock: () => clock.now(), writer });
  const shared = {
    ...{ contexts, clock, functions, telemetry: telemetry, signedUrls: undefined, approvalUrl: APPROVAL_URL },
    agents: new Map(agents.map(({ name }) => [name, { function: name, hydrate: false }])),
    async publish({ text }: { readonly text?: object }) {
      done.events += 1;
      if (text) done.messages += 1;
    },
  };
  const onStream = { resume: createResumeHandler(shared), notify: createNotifyHandler(shared) };
  const sweep = createSweepHandler(shared);
  const gauge = createGaugeHandler({ records: storage.records, tenants: ['default'], telemetry: telemetry, clock });
  const serve = createApiHandler({ ...shared, identify: () => undefined });

  return {
    clock,
    /** An agent in this place, for a tenant, in a new process. */
    at: <A extends AnyAgent>(agent: A, tenant?: string): A =>
      agent.with({ ...place, ...(tenant !== undefined && { tenant }) }) as A,
    /** What was done since the last time. */
    take(): Activity {
      const taken = done;
      done = { ...NO_ACTIVITY };
      return taken;
    },
    /** Lets everything go on that somebody should run, until nothing is left but waiting. */
    async flow(): Promise<void> {
      for (;;) {
        const records = await nextRecords();
        if (records.length === 0 && queue.length === 0) return;
        done.streamed += records.length;
        for (const name of ['notify', 'resume'] as const) {
          const Records = records.filter(matching(STREAM_FILTERS[name]));
          done[name] += Records.length;
          if (Records.length > 0) await onStream[name]({ Records });
        }
        for (const run of queue.splice(0)) await run();
      }
    },
    gauge,
    sweep: (): Promise<SweepResponse> => sweep({}),
    /** What a link is answered with. */
    async link(method: 'GET' | 'POST', url: string, body?: object): Promise<HttpResponse> {
      done.requests += 1;
      const answer = await serve(requestOf(method, url, body));
      if (answer.statusCode !== 200) throw new Error(`A link was answered with ${answer.statusCode}: ${answer.body}`);
      return answer;
    },
  };
}

export type Deployment = ReturnType<typeof createDeployment>;

/** Whatever a handler could not do is logged as an error, and would be counted as if it had been done: so it throws. */
const strictly = (count: Telemetry['count']): Telemetry => ({
  log(level, message, fields) {
    if (level === 'error') throw new Error(`${message} ${JSON.stringify(fields)}`);
  },
  count,
  traceInvocation: (run) => run(),
});

/** A request as API Gateway hands it to the function. */
function requestOf(method: string, url: string, body?: object) {
  const { pathname: rawPath, host } = new URL(url);
  return {
    ...{ version: '2.0', routeKey: '$default', rawPath, rawQueryString: '', isBase64Encoded: false },
    headers: { 'content-type': 'application/json', host },
    requestContext: { domainName: host, http: { method, path: rawPath } },
    ...(body && { body: JSON.stringify(body) }),
  };
}
