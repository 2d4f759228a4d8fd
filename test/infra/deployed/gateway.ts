import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AccessRequest } from './policy.ts';
import type { Roles } from './roles.ts';
import type { Call, Service, ServiceResponse } from './services/service.ts';

/** The owner of an access key: a function or a role. */
export interface KeyOwner {
  readonly label: string;
  readonly name: string;
  readonly role: string;
}

/** A call to AWS. */
interface RecordedCall {
  /** The label of the function or role that made it. */
  readonly by: string;
  readonly service: string;
  readonly wanted: readonly AccessRequest[];
  readonly isAllowed: boolean;
}

export interface GatewayOptions {
  readonly services: Readonly<Record<string, Service>>;
  readonly roles: Roles;
  readonly ownerOf: (accessKeyId: string) => KeyOwner | undefined;
  readonly accountId: string;
  /** The time of the account. */
  readonly now: () => number;
}

/**
 * All AWS services at one address. The access key in the signature identifies the caller, and requests that its role
 * does not allow are denied as in AWS. The signature itself is not verified.
 */
export async function openGateway({ services, roles, ownerOf, accountId, now }: GatewayOptions) {
  const calls: RecordedCall[] = [];
  const faults: unknown[] = [];

  async function handle(call: Call): Promise<ServiceResponse> {
    const signed = call.headers.authorization ?? `Credential=${call.url.searchParams.get('X-Amz-Credential')}`;
    const [, key = '', name = ''] = /Credential=([^/]+)\/\d+\/[^/]+\/([^/]+)\/aws4_request/.exec(signed) ?? [];
    const owner = ownerOf(key);
    const service = services[name];
    if (!owner || !service)
      throw new Error(`Unknown access key ${key} or service "${name}" in ${call.method} ${call.url.pathname}.`);
    const wanted = service.wanted(call);
    const denied = wanted.find((each) => !roles.isAllowed(owner.role, each));
    calls.push({ by: owner.label, service: name, wanted, isAllowed: denied === undefined });
    if (denied) return service.denied(accessDeniedMessage(owner, denied, accountId));
    return service.respond(call, (each) => roles.isAllowed(owner.role, each));
  }

  const server = createServer(async (request, response) => {
    try {
      const { status, headers, body } = await handle(await callOf(request));
      // The services share the clock of the account, which a story may move ahead.
      response.writeHead(status, { ...headers, date: new Date(now()).toUTCString() }).end(body);
    } catch (error) {
      faults.push(error);
      response.writeHead(500).end();
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    endpoint: `http://127.0.0.1:${Object(server.address()).port}`,
    calls,
    faults,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

const accessDeniedMessage = (
  { role, name }: KeyOwner,
  { action, resource }: AccessRequest,
  accountId: string,
): string =>
  `User: arn:aws:sts::${accountId}:assumed-role/${role}/${name} is not authorized to perform: ${action} on resource: ` +
  `${resource} because no identity-based policy allows the ${action} action`;

async function callOf(request: IncomingMessage): Promise<Call> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece);
  return {
    method: request.method ?? 'GET',
    url: new URL(request.url ?? '/', 'http://aws'),
    headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
    body: Buffer.concat(pieces),
  };
}
