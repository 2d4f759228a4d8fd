import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { onTestFinished, vi } from 'vitest';
import { assistant } from '../../examples/model-loop/agent.ts';
import { refunds } from '../../examples/refunds/agent.ts';
import { createGaugeHandler } from '../../lambda/handlers/factories/create-gauge-handler.ts';
import { type IamCaller, identifyFromAuthorizer } from '../../lambda/http/authorizer-caller.ts';
import { signatureProblem } from '../cli/signature.ts';
import { handlerScene, httpEvent, lambdaContext } from '../handlers/scene.ts';

export const KEY = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret+/=', sessionToken: 'session//token==' };
export const REGION = 'eu-west-1';
export const ACCOUNT = '111122223333';
export const CALLER = `arn:aws:sts::${ACCOUNT}:assumed-role/Admin/me`;

/** Makes programs use this key and region, and no other configuration of this machine. */
export const ENVIRONMENT = {
  AWS_ACCESS_KEY_ID: KEY.accessKeyId,
  AWS_SECRET_ACCESS_KEY: KEY.secretAccessKey,
  AWS_SESSION_TOKEN: KEY.sessionToken,
  AWS_REGION: REGION,
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_CONFIG_FILE: '/dev/null',
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
};

const CALLERS: Readonly<Record<string, IamCaller>> = {
  [`arn:aws:sts::${ACCOUNT}:assumed-role/Admin/*`]: {
    tenant: 'default',
    roles: ['operator', 'approver'],
    decidesForOthers: true,
  },
};

/** A response that passes through the gateway. */
export interface GatewayResponse {
  readonly status: number;
  readonly body: string;
}

export interface RehearsalOptions {
  /** @default the caller is an operator and an approver */
  readonly callers?: Readonly<Record<string, IamCaller>>;
  /** The part that is broken. @default none */
  readonly broken?: 'signatures' | 'agents' | 'schedule';
  /** Changes responses. @default unchanged */
  readonly alter?: (request: string, response: GatewayResponse) => GatewayResponse;
}

const AGENTS = { refunds, 'model-loop': assistant };

/**
 * The example app on local engines: the real handlers and agents behind a gateway that checks signatures. The clock
 * moves ahead by a minute whenever a run is read.
 */
export async function rehearsal({
  callers = CALLERS,
  broken,
  alter = (_, response) => response,
}: RehearsalOptions = {}) {
  for (const [name, value] of Object.entries(ENVIRONMENT)) vi.stubEnv(name, value);
  const functions = Object.keys(AGENTS).map((name) => [name, { function: `${name}-fn`, hydrate: false }]);
  const scene = await handlerScene({
    agents: Object.fromEntries(functions),
    filtered: true,
    publishes: false,
    identify: identifyFromAuthorizer({ iam: callers }),
  });
  const { clock, storage, behind } = scene;
  if (broken === 'agents') scene.failing.set('*', new Error('Access denied.'));
  let requests = 0;
  for (const [name, agent] of Object.entries(AGENTS)) {
    const handler = agent
      .with({ storage, clock, approvalUrl: 'https://approve.test/approvals', log: () => {} })
      .handler();
    behind.set(`${name}-fn`, (event) => handler(event, lambdaContext(`${name}-${++requests}`)));
  }
  const telemetry = { log: () => {}, count: () => {}, runInvocation: <T>(run: () => Promise<T>) => run() };
  const gauge = createGaugeHandler({ records: storage.records, tenants: ['default'], telemetry, clock });

  let turn = Promise.resolve<unknown>(undefined);
  /** Simulates what happens on AWS within a minute. */
  const passMinute = (): Promise<unknown> => {
    turn = turn.then(async () => {
      clock.moveTo(clock.now() + 60_000);
      await scene.flow();
      if (broken === 'schedule') return;
      await scene.sweep();
      await scene.flow();
    });
    return turn;
  };

  const respond = async (request: IncomingMessage, body: Buffer): Promise<GatewayResponse> => {
    const { method = '', url = '', headers } = request;
    const { pathname, search } = new URL(url, 'http://gateway');
    const isPublic = pathname === '/' || pathname.startsWith('/approvals/');
    const isUnsigned = signatureProblem(request, body, KEY, REGION) !== undefined && broken !== 'signatures';
    if (isUnsigned && !isPublic) return { status: 403, body: '{"message":"Forbidden"}' };
    if (method === 'GET' && /^\/api\/runs\/[^/]+$/.test(pathname)) await passMinute();
    const event = httpEvent(method, `${decodeURIComponent(pathname)}${search}`, { headers, body: body.toString() });
    const requestContext = { ...event.requestContext, ...(!isPublic && { authorizer: { iam: { userArn: CALLER } } }) };
    const response = await scene.api({ ...event, requestContext });
    return { status: response.statusCode, body: response.body };
  };
  const server = createServer(async (request, response) => {
    const found = await respond(request, await buffer(request));
    const { status, body } = alter(`${request.method} ${request.url}`, found);
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const apiUrl = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  return { ...scene, apiUrl, gauge };
}
