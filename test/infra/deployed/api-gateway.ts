import { randomUUID } from 'node:crypto';
import { like } from './policy.ts';
import { allOf, type Deployed } from './resolve.ts';
import type { Roles } from './roles.ts';

/** A caller: a role of the template, or the claims of a JWT. */
export type Caller = { readonly role: string } | { readonly claims: Readonly<Record<string, string>> };

export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly caller?: Caller | undefined;
}

/** The result of routing a request: the event for a function, or a response of the gateway. */
export type Routed =
  | { readonly function: string; readonly event: object }
  | { readonly answer: { readonly statusCode: number; readonly body: string } };

interface Route {
  readonly ApiId: string;
  readonly RouteKey: string;
  readonly AuthorizationType: 'NONE' | 'AWS_IAM' | 'JWT';
  readonly Target: string;
}

/** The HTTP APIs of a template: routes, authorizers, and events in payload format 2.0. */
export function apiGateway(deployed: Deployed, roles: Roles) {
  const { region, accountId } = deployed.target;
  const routes = allOf<Route>(deployed, 'AWS::ApiGatewayV2::Route').map(({ properties }) => properties);
  const integrations = new Map(
    allOf<{ IntegrationUri: string; PayloadFormatVersion: string }>(deployed, 'AWS::ApiGatewayV2::Integration').map(
      ({ ref, properties }) => [`integrations/${ref}`, properties],
    ),
  );
  const permissions = allOf<{ FunctionName: string; Principal: string; SourceArn: string }>(
    deployed,
    'AWS::Lambda::Permission',
  ).map(({ properties }) => properties);

  return function route({ method, url, headers = {}, body, caller }: HttpRequest): Routed {
    const { hostname, pathname, search } = new URL(url);
    const [apiId = ''] = hostname.split('.');
    const found = bestOf(
      routes.filter((each) => each.ApiId === apiId),
      method,
      pathname,
    );
    if (!found) return { answer: { statusCode: 404, body: '{"message":"Not Found"}' } };
    const { RouteKey, AuthorizationType, Target } = found;
    const arn = (path: string) => `arn:aws:execute-api:${region}:${accountId}:${apiId}/$default/${method}${path}`;

    let authorizer: object | undefined;
    if (AuthorizationType === 'AWS_IAM') {
      const role = caller && 'role' in caller ? caller.role : undefined;
      if (role === undefined || !roles.isAllowed(role, { action: 'execute-api:Invoke', resource: arn(pathname) }))
        return { answer: { statusCode: 403, body: '{"message":"Forbidden"}' } };
      authorizer = { iam: iamOf(role, accountId) };
    } else if (AuthorizationType === 'JWT') {
      if (!caller || !('claims' in caller)) return { answer: { statusCode: 401, body: '{"message":"Unauthorized"}' } };
      authorizer = { jwt: { claims: caller.claims, scopes: null } };
    }

    const { IntegrationUri = '', PayloadFormatVersion } = integrations.get(Target) ?? {};
    const [, routePath = ''] = RouteKey.split(' ');
    const mayInvoke = permissions.some(
      (each) =>
        each.FunctionName === IntegrationUri &&
        each.Principal === 'apigateway.amazonaws.com' &&
        like(each.SourceArn, arn(routePath)),
    );
    if (!mayInvoke || PayloadFormatVersion !== '2.0')
      return { answer: { statusCode: 500, body: '{"message":"Internal Server Error"}' } };
    const text = /^(text\/|application\/(json|javascript|xml))/.test(headers['content-type'] ?? 'application/json');
    const rawPath = decodeURIComponent(pathname);
    const event = {
      version: '2.0',
      routeKey: RouteKey,
      rawPath,
      rawQueryString: search.slice(1),
      headers: {
        accept: '*/*',
        host: hostname,
        'user-agent': 'test',
        'x-forwarded-for': '203.0.113.7',
        'x-forwarded-port': '443',
        'x-forwarded-proto': 'https',
        'x-amzn-trace-id': 'Root=1-67891233-abcdef012345678912345678',
        ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
        ...headers,
      },
      ...(search && { queryStringParameters: Object.fromEntries(new URLSearchParams(search)) }),
      requestContext: {
        accountId,
        apiId,
        domainName: hostname,
        domainPrefix: apiId,
        requestId: randomUUID(),
        routeKey: RouteKey,
        ...(authorizer && { authorizer }),
        http: { method, path: rawPath, protocol: 'HTTP/1.1', sourceIp: '203.0.113.7', userAgent: 'test' },
        stage: '$default',
        time: '17/Nov/2026:10:00:00 +0000',
        timeEpoch: 1_794_909_600_000,
      },
      ...(body !== undefined && { body: text ? body : Buffer.from(body).toString('base64') }),
      isBase64Encoded: body !== undefined && !text,
    };
    return { function: IntegrationUri.split(':').at(-1) ?? '', event };
  };
}

/** The most specific route: literal text before `{one}` before `{all+}`, as in API Gateway. */
function bestOf(routes: readonly Route[], method: string, pathname: string): Route | undefined {
  const fitting = routes.flatMap((route) => {
    const [verb, path = ''] = route.RouteKey.split(' ');
    const rank = verb === method || verb === 'ANY' ? rankOf(path, pathname) : undefined;
    return rank === undefined ? [] : [{ route, rank }];
  });
  return fitting.sort((a, b) => (a.rank < b.rank ? -1 : 1))[0]?.route;
}

function rankOf(path: string, pathname: string): string | undefined {
  const [wanted, found] = [path.split('/'), pathname.split('/')];
  let rank = '';
  for (const [at, part] of wanted.entries()) {
    if (/^\{.+\+\}$/.test(part)) return found.length > at && found[at] !== '' ? `${rank}3` : undefined;
    const isVariable = /^\{.+\}$/.test(part);
    if (!isVariable && part !== found[at]) return undefined;
    rank += isVariable ? '2' : '1';
  }
  return wanted.length === found.length ? rank : undefined;
}

const iamOf = (role: string, accountId: string) => ({
  accessKey: 'ASIAEXAMPLE',
  accountId,
  callerId: 'AROAEXAMPLE:session',
  cognitoIdentity: null,
  principalOrgId: 'aws:PrincipalOrgID',
  userArn: `arn:aws:sts::${accountId}:assumed-role/${role}/session`,
  userId: 'AROAEXAMPLE:session',
});
