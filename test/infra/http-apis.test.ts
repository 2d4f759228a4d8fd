import { AwsClient } from 'aws4fetch';
import { describe, expect, it } from 'vitest';
import { APPROVE, START } from '../../infra/api-permissions.ts';
import { ROUTES } from '../../lambda/api/routes/routes.ts';
import { allOptions, stackOf, withAgents } from './stacks.ts';
import { StackTemplate } from './template.ts';

function templateOf(props: typeof allOptions = () => ({})): StackTemplate {
  const stack = stackOf();
  withAgents(stack, props(stack), []);
  return new StackTemplate(stack);
}

const DEFAULT = templateOf();
const EVERYTHING = templateOf(allOptions);

/** The routes of an API by authorization. */
function routesOf(template: StackTemplate, api: string): Readonly<Record<string, readonly unknown[]>> {
  const routes = template
    .all('AWS::ApiGatewayV2::Route')
    .filter(({ Properties }) => template.text(Properties.ApiId) === `<${api}/Http>`)
    .map(({ Properties: { AuthorizationType, AuthorizerId, RouteKey } }) => ({
      by: `${AuthorizationType}${AuthorizerId ? ` ${template.text(AuthorizerId)}` : ''}`,
      RouteKey,
    }));
  const grouped = Object.groupBy(routes, ({ by }) => by);
  return Object.fromEntries(
    Object.entries(grouped).map(([by, of = []]) => [by, of.map(({ RouteKey }) => RouteKey).sort()]),
  );
}

const AUTHORIZED = [
  'GET /api/approvals',
  'GET /api/delegations',
  'GET /api/me',
  'GET /api/runs/{run}/approvals/{approval}',
  'GET /api/runs/{run}/approvals/{approval}/payloads/{payload}',
  'GET /api/runs/{run}/load',
  'GET /api/{proxy+}',
  'GET /console',
  'GET /console/{proxy+}',
  'HEAD /api/{proxy+}',
  'HEAD /console',
  'HEAD /console/{proxy+}',
  'POST /api/approvals/decide',
  'POST /api/claims',
  'POST /api/delegations',
  'POST /api/delegations/{person}/end',
  'POST /api/runs',
  'POST /api/runs/{run}/approvals',
  'POST /api/runs/{run}/approvals/{approval}/decide',
  'POST /api/runs/{run}/checkpoints',
  'POST /api/runs/{run}/finish',
  'POST /api/runs/{run}/lease',
  'POST /api/runs/{run}/release',
  'POST /api/runs/{run}/uploads',
  'POST /api/runs/{run}/waits',
  'POST /api/{proxy+}',
  'POST /console/{proxy+}',
];
const PUBLIC = ['GET /', 'GET /approvals/{proxy+}', 'HEAD /', 'HEAD /approvals/{proxy+}', 'POST /approvals/{proxy+}'];

describe('the API', () => {
  it('requires IAM on all routes except approval links and the redirect to the console', () => {
    expect(DEFAULT.all('AWS::ApiGatewayV2::Api').map(({ name }) => name)).toEqual(['HttpApi/Http']);
    expect(routesOf(DEFAULT, 'HttpApi')).toEqual({ AWS_IAM: AUTHORIZED, NONE: PUBLIC });
  });

  it('has a second one for JWT callers, which checks issuer and audience', () => {
    expect(routesOf(EVERYTHING, 'HttpApi')).toEqual({ AWS_IAM: AUTHORIZED, NONE: PUBLIC });
    expect(routesOf(EVERYTHING, 'JwtHttpApi')).toEqual({ 'JWT <JwtHttpApi/Http/Jwt>': AUTHORIZED, NONE: PUBLIC });
    const authorizer = EVERYTHING.one('AWS::ApiGatewayV2::Authorizer');
    expect(EVERYTHING.plain(authorizer.Properties)).toMatchObject({
      ApiId: '<JwtHttpApi/Http>',
      AuthorizerType: 'JWT',
      IdentitySource: ['$request.header.Authorization'],
      JwtConfiguration: {
        Issuer: 'https://cognito-idp.<AWS::Region>.<AWS::URLSuffix>/eu-central-1_Abc',
        Audience: ['portal'],
      },
    });
  });

  it('has no catch-all route', () => {
    for (const template of [DEFAULT, EVERYTHING])
      expect(JSON.stringify(template.all('AWS::ApiGatewayV2::Route'))).not.toMatch(/\$default|ANY /);
  });

  it('integrates every route with the function `api` in payload format 2.0', () => {
    for (const { name, Properties } of EVERYTHING.all('AWS::ApiGatewayV2::Integration'))
      expect(EVERYTHING.plain(Properties), name).toMatchObject({
        IntegrationType: 'AWS_PROXY',
        IntegrationUri: '<Api.Arn>',
        PayloadFormatVersion: '2.0',
      });
    const targets = EVERYTHING.all('AWS::ApiGatewayV2::Route').map(({ Properties }) =>
      EVERYTHING.text(Properties.Target),
    );
    expect(targets.filter((each) => !/^integrations\/<(Jwt)?HttpApi\/Http\/.*Function>$/.test(each))).toEqual([]);
  });
});

describe('the routes of the application', () => {
  /** The route that API Gateway selects: a full match takes precedence over a greedy one. */
  function routeFor(method: string, path: string): string | undefined {
    const matches = (key: string) =>
      new RegExp(`^${key.replace(/\{\w+\+\}/, '.+').replace(/\{\w+\}/g, '[^/]+')}$`).test(`${method} ${path}`);
    return [...AUTHORIZED, ...PUBLIC]
      .filter(matches)
      .toSorted((a, b) => Number(/\+/.test(a)) - Number(/\+/.test(b)))[0];
  }

  it.each(ROUTES.map((route) => [`${route.method} ${route.path}`, route] as const))(
    'include %s with the same authorization in the gateway',
    (_, { method, path, access }) => {
      expect(access === 'everyone' ? PUBLIC : AUTHORIZED).toContain(routeFor(method, path.replace(/\{\w+\}/g, 'x')));
    },
  );
});

describe('requests', () => {
  const settingsOf = (template: StackTemplate) =>
    template.all('AWS::ApiGatewayV2::Stage').map(({ Properties }) => Properties.DefaultRouteSettings);

  it('are throttled at 100 per second with a burst of 200, or at the given limits', () => {
    expect(settingsOf(DEFAULT)).toEqual([
      { ThrottlingRateLimit: 100, ThrottlingBurstLimit: 200, DetailedMetricsEnabled: false },
    ]);
    expect(settingsOf(EVERYTHING)).toEqual(
      [1, 2].map(() => ({ ThrottlingRateLimit: 10, ThrottlingBurstLimit: 20, DetailedMetricsEnabled: false })),
    );
    for (const template of [DEFAULT, EVERYTHING])
      for (const { Properties } of template.all('AWS::ApiGatewayV2::Stage'))
        expect(Properties).not.toHaveProperty('RouteSettings');
  });

  it('have metrics for each route only if asked, because CloudWatch charges for them', () => {
    expect(settingsOf(templateOf(() => ({ routeMetrics: true })))).toMatchObject([{ DetailedMetricsEnabled: true }]);
  });

  it('are logged to a group whose name keeps the resource policy of CloudWatch Logs short', () => {
    const names = EVERYTHING.all('AWS::Logs::LogGroup')
      .filter(({ name }) => name.endsWith('/AccessLog'))
      .map(({ Properties }) => JSON.stringify(Properties.LogGroupName));
    expect(names.length).toBe(2);
    for (const name of names) {
      expect(name).toContain('/aws/vendedlogs/waitstate/Stack-Waitstate-');
      // A new stack of the same name must not collide with the log that the old one left.
      expect(name).toContain('AWS::StackId');
    }
    expect(new Set(names).size).toBe(2);
  });

  it('are logged without path, query and headers, which may contain the token of a link', () => {
    for (const { name, Properties } of EVERYTHING.all<{
      AccessLogSettings: { Format: string; DestinationArn: unknown };
    }>('AWS::ApiGatewayV2::Stage')) {
      const { Format, DestinationArn } = Properties.AccessLogSettings;
      const variables = [...Format.matchAll(/\$context\.[\w.]+/g)].map(([variable]) => variable);
      expect(variables.sort(), name).toEqual([
        '$context.error.message',
        '$context.identity.sourceIp',
        '$context.identity.userArn',
        '$context.integrationErrorMessage',
        '$context.requestId',
        '$context.requestTime',
        '$context.responseLatency',
        '$context.responseLength',
        '$context.routeKey',
        '$context.status',
      ]);
      expect(Object.keys(JSON.parse(Format)).length).toBe(variables.length);
      expect(EVERYTHING.text(DestinationArn)).toBe(`<${name.replace('/Stage', '/AccessLog')}.Arn>`);
    }
  });
});

describe('other sites', () => {
  it('may not call by default', () => {
    for (const { Properties } of DEFAULT.all('AWS::ApiGatewayV2::Api'))
      expect(Properties).not.toHaveProperty('CorsConfiguration');
    expect(JSON.stringify(DEFAULT.template)).not.toContain('WAITSTATE_CORS_ORIGINS');
  });

  it('may call only if their origin is listed, and without cookies', () => {
    const apis = EVERYTHING.all('AWS::ApiGatewayV2::Api');
    expect(apis.length).toBe(2);
    for (const { name, Properties } of apis)
      expect(Properties.CorsConfiguration, name).toEqual({
        AllowOrigins: ['https://portal.example.com', 'https://other.example.com'],
        AllowMethods: ['GET', 'POST'],
        AllowHeaders: expect.arrayContaining(['authorization', 'content-type', 'idempotency-key', 'if-match']),
        ExposeHeaders: ['etag', 'location'],
        MaxAge: 3600,
      });
  });
});

describe('the grants of the API', () => {
  it('name routes that the gateway has by name, whether IAM compares the path or the route', () => {
    for (const { routes } of [START, APPROVE])
      for (const [method, path] of routes) expect(AUTHORIZED).toContain(`${method} ${path}`);
  });

  it('include every route that a portal needs for approvals', () => {
    const needed = ROUTES.filter(
      ({ method, path, access }) =>
        /^(GET \/api\/(me|approvals|runs\/\{run\}\/approvals\/)|POST .*\/decide$)/.test(`${method} ${path}`) &&
        access.includes('approver'),
    );
    expect(needed.length).toBe(6);
    for (const { method, path } of needed) expect(APPROVE.routes).toContainEqual([method, path]);
  });
});

describe('a page of another site that signs its requests', () => {
  it('passes the CORS preflight with the headers of SigV4', async () => {
    const aws = new AwsClient({ accessKeyId: 'a', secretAccessKey: 'b', sessionToken: 'c', service: 's3' });
    const { headers } = await aws.sign('https://api.example.com/api/runs', { method: 'POST', body: '{}' });
    const sent = [...headers.keys()].filter((name) => /^(authorization|x-amz-)/.test(name));
    expect(sent.sort()).toEqual(['authorization', 'x-amz-content-sha256', 'x-amz-date', 'x-amz-security-token']);
    for (const { Properties } of EVERYTHING.all<{ CorsConfiguration: { AllowHeaders: string[] } }>(
      'AWS::ApiGatewayV2::Api',
    ))
      expect(Properties.CorsConfiguration.AllowHeaders).toEqual(expect.arrayContaining(sent));
  });
});

describe('a domain', () => {
  const domainOf = (template: StackTemplate) => ({
    domain: template.all('AWS::ApiGatewayV2::DomainName').map(({ Properties }) => template.plain(Properties)),
    mapping: template.all('AWS::ApiGatewayV2::ApiMapping').map(({ Properties }) => template.plain(Properties)),
    record: template.all('AWS::Route53::RecordSet').map(({ Properties }) => template.plain(Properties)),
  });
  const named = (api: string) => ({
    domain: [
      {
        DomainName: 'approvals.example.com',
        DomainNameConfigurations: [
          {
            CertificateArn: 'arn:aws:acm:eu-central-1:111122223333:certificate/c',
            EndpointType: 'REGIONAL',
            SecurityPolicy: 'TLS_1_2',
          },
        ],
      },
    ],
    mapping: [{ ApiId: `<${api}/Http>`, DomainName: `<${api}/Domain>`, Stage: '$default' }],
  });
  const urlsOf = (template: StackTemplate) => template.plain(template.template.Outputs);

  it('belongs to the API with the links if there are two, and has a DNS record in its zone', () => {
    expect(domainOf(EVERYTHING)).toEqual({
      ...named('HttpApi'),
      record: [
        {
          Name: 'approvals.example.com.',
          Type: 'A',
          HostedZoneId: 'Z1',
          AliasTarget: {
            DNSName: '<HttpApi/Domain.RegionalDomainName>',
            HostedZoneId: '<HttpApi/Domain.RegionalHostedZoneId>',
          },
        },
      ],
    });
    expect(urlsOf(EVERYTHING)).toMatchObject({
      WaitstateApiUrl: { Value: 'https://approvals.example.com' },
      WaitstateJwtApiUrl: { Value: '<JwtHttpApi/Http.ApiEndpoint>' },
    });
  });

  it('belongs to the only API otherwise, and has no DNS record without a zone', () => {
    const template = templateOf((stack) => {
      const { domainName = '', certificate } = allOptions(stack);
      return certificate ? { domainName, certificate } : {};
    });
    expect(domainOf(template)).toEqual({ ...named('HttpApi'), record: [] });
    expect(urlsOf(template)).toMatchObject({ WaitstateApiUrl: { Value: 'https://approvals.example.com' } });
  });

  it('can be the only address of the API for IAM callers', () => {
    const only = templateOf((stack) => ({ ...allOptions(stack), disableExecuteApiEndpoint: true }));
    const disabled = only
      .all('AWS::ApiGatewayV2::Api')
      .map(({ name, Properties }) => [name, Properties.DisableExecuteApiEndpoint ?? false]);
    expect(Object.fromEntries(disabled)).toEqual({ 'HttpApi/Http': true, 'JwtHttpApi/Http': false });
    expect(() => templateOf(() => ({ disableExecuteApiEndpoint: true }))).toThrow(
      /`disableExecuteApiEndpoint` leaves only .* Set `domainName`, too/,
    );
  });

  it('is the base URL of approval links', () => {
    const { Environment } = EVERYTHING.one('AWS::Lambda::Function', 'Notify').Properties;
    expect(EVERYTHING.plain(Environment)).toMatchObject({
      Variables: { WAITSTATE_APPROVAL_URL: 'https://approvals.example.com/approvals' },
    });
    const without = DEFAULT.one('AWS::Lambda::Function', 'Notify').Properties.Environment;
    expect(DEFAULT.plain(without)).toMatchObject({
      Variables: { WAITSTATE_APPROVAL_URL: '<HttpApi/Http.ApiEndpoint>/approvals' },
    });
  });
});
