import { Duration, Fn, Names, Stack } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import {
  CorsHttpMethod,
  DomainName,
  HttpApi,
  HttpMethod,
  HttpNoneAuthorizer,
  HttpStage,
  type IHttpRouteAuthorizer,
  LogGroupLogDestination,
  SecurityPolicy,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpIamAuthorizer, HttpJwtAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import type { ICertificate } from 'aws-cdk-lib/aws-certificatemanager';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { ARecord, type IHostedZone, RecordTarget } from 'aws-cdk-lib/aws-route53';
import { ApiGatewayv2DomainProperties } from 'aws-cdk-lib/aws-route53-targets';
import { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import { APPROVE, START, WORK } from './api-permissions.ts';
import { newLogGroup } from './functions.ts';
import type { ResolvedProps } from './resolved-props.ts';

interface CustomDomain {
  readonly domainName: string;
  readonly certificate: ICertificate;
  readonly hostedZone: IHostedZone | undefined;
  /** Whether the generated domain of the API is turned off. */
  readonly isOnlyEndpoint: boolean;
}

const { GET, HEAD, POST } = HttpMethod;

/**
 * Routes that require authorization. The first three cover all others, which exist so that an IAM policy can name just
 * them. The methods are listed because `ANY` would send the preflight requests of browsers to the authorizer.
 */
const AUTHORIZED_ROUTES: readonly (readonly [path: string, methods: HttpMethod[]])[] = [
  ['/api/{proxy+}', [GET, HEAD, POST]],
  ['/console', [GET, HEAD]],
  ['/console/{proxy+}', [GET, HEAD, POST]],
  ...[START, APPROVE, WORK].flatMap(({ routes }) =>
    routes.map(([method, path]): readonly [string, HttpMethod[]] => [path, [method]]),
  ),
];

/** Routes without authorization: approval links, and the redirect to the console. */
const PUBLIC_ROUTES: readonly (readonly [path: string, methods: HttpMethod[], reason: string])[] = [
  [
    '/approvals/{proxy+}',
    [GET, HEAD, POST],
    'The token of an approval link authorizes: 256 random bits, for one approval and one person. This route serves nothing else.',
  ],
  ['/', [GET, HEAD], 'It only redirects to the console, which requires authorization.'],
];

/** An HTTP API for the function `api`, with one authorizer for all routes but approval links. */
export class HttpEndpoint extends Construct {
  readonly api: HttpApi;
  /** Without a trailing slash. */
  readonly url: string;

  constructor(
    scope: Construct,
    id: string,
    options: {
      readonly function: IFunction;
      readonly authorizer: IHttpRouteAuthorizer;
      readonly description: string;
      readonly domain?: CustomDomain | undefined;
      readonly props: ResolvedProps;
    },
  ) {
    super(scope, id);
    const { function: fn, authorizer, description, domain, props } = options;
    const { corsOrigins, throttleRate, throttleBurst } = props;
    const integration = new HttpLambdaIntegration('Function', fn, { scopePermissionToRoute: false });
    this.api = new HttpApi(this, 'Http', {
      apiName: Names.uniqueResourceName(this, { maxLength: 100, separator: '-' }),
      description,
      createDefaultStage: false,
      ...(domain?.isOnlyEndpoint && { disableExecuteApiEndpoint: true }),
      ...(corsOrigins.length > 0 && { corsPreflight: corsOptions(corsOrigins) }),
    });
    for (const [path, methods] of AUTHORIZED_ROUTES) this.api.addRoutes({ path, methods, integration, authorizer });
    for (const [path, methods, reason] of PUBLIC_ROUTES)
      for (const route of this.api.addRoutes({ path, methods, integration, authorizer: new HttpNoneAuthorizer() }))
        acknowledge(route, { 'AwsSolutions-APIG4': reason });
    const domainName = domain && createDomain(this, domain);
    new HttpStage(this, 'Stage', {
      httpApi: this.api,
      stageName: '$default',
      autoDeploy: true,
      throttle: { rateLimit: throttleRate, burstLimit: throttleBurst },
      detailedMetricsEnabled: props.routeMetrics,
      accessLogSettings: {
        destination: new LogGroupLogDestination(newLogGroup(this, 'AccessLog', props, vendedLogName(this))),
        format: AccessLogFormat.custom(JSON.stringify(ACCESS_LOG_FIELDS)),
      },
      ...(domainName && { domainMapping: { domainName } }),
    });
    this.url = domain ? `https://${domain.domainName}` : this.api.apiEndpoint;
  }

  /** The ARN of a route in an IAM policy, with `*` for each parameter of its path. */
  routeArn(method: HttpMethod, path: string): string {
    const verb = method === HttpMethod.ANY ? '*' : method;
    return Stack.of(this).formatArn({
      service: 'execute-api',
      resource: this.api.apiId,
      resourceName: `*/${verb}${path.replace(/\{\w+\}/g, '*')}`,
    });
  }
}

/**
 * Creates the API for IAM callers, which has the approval links and the custom domain; with `jwt`, also one for JWT
 * callers. You can add or remove the second without changing the first.
 */
export function createHttpEndpoints(
  scope: Construct,
  fn: IFunction,
  props: ResolvedProps,
): { readonly iam: HttpEndpoint; readonly jwt: HttpEndpoint | undefined } {
  const { jwt, domainName, certificate, hostedZone, disableExecuteApiEndpoint: isOnlyEndpoint } = props;
  const domain =
    domainName !== undefined && certificate ? { domainName, certificate, hostedZone, isOnlyEndpoint } : undefined;
  return {
    iam: new HttpEndpoint(scope, 'HttpApi', {
      function: fn,
      props,
      authorizer: new HttpIamAuthorizer(),
      description: 'Waitstate, for IAM callers',
      domain,
    }),
    jwt:
      jwt &&
      new HttpEndpoint(scope, 'JwtHttpApi', {
        function: fn,
        props,
        description: 'Waitstate, for JWT callers',
        authorizer: new HttpJwtAuthorizer('Jwt', jwt.issuer, { jwtAudience: [...jwt.audience] }),
      }),
  };
}

/** The access log has the route instead of the path, because the path may contain the token of an approval link. */
const ACCESS_LOG_FIELDS = {
  time: '$context.requestTime',
  request: '$context.requestId',
  route: '$context.routeKey',
  status: '$context.status',
  bytes: '$context.responseLength',
  milliseconds: '$context.responseLatency',
  from: '$context.identity.sourceIp',
  caller: '$context.identity.userArn',
  error: '$context.error.message',
  integrationError: '$context.integrationErrorMessage',
};

/**
 * The name of an access log. CloudWatch Logs adds a statement for each other log group to the resource policy of the
 * account, which has at most 5,120 characters; one statement covers all names with this prefix. The name contains a part
 * of the stack id, so that a new stack of the same name does not collide with the log that the old one left.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/AWS-logs-and-resource-policy.html
 */
function vendedLogName(scope: Construct): string {
  const [stackUuid] = Fn.split('-', Fn.select(2, Fn.split('/', Stack.of(scope).stackId)), 5);
  return `/aws/vendedlogs/waitstate/${Names.uniqueResourceName(scope, { maxLength: 100, separator: '-' })}-${stackUuid}`;
}

const corsOptions = (origins: readonly string[]) => ({
  allowOrigins: [...origins],
  allowMethods: [CorsHttpMethod.GET, CorsHttpMethod.POST],
  allowHeaders: [
    ...['authorization', 'content-type', 'idempotency-key', 'if-match', 'if-none-match'],
    // The headers of a request that a page signs with SigV4.
    ...['x-amz-content-sha256', 'x-amz-date', 'x-amz-security-token'],
  ],
  exposeHeaders: ['etag', 'location'],
  maxAge: Duration.hours(1),
});

function createDomain(scope: Construct, { domainName, certificate, hostedZone }: CustomDomain): DomainName {
  const domain = new DomainName(scope, 'Domain', { domainName, certificate, securityPolicy: SecurityPolicy.TLS_1_2 });
  if (hostedZone)
    new ARecord(scope, 'Record', {
      zone: hostedZone,
      recordName: domainName,
      target: RecordTarget.fromAlias(
        new ApiGatewayv2DomainProperties(domain.regionalDomainName, domain.regionalHostedZoneId),
      ),
    });
  return domain;
}
