import { Duration, Names, Stack } from 'aws-cdk-lib';
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
import { newLogGroup } from './functions.ts';
import type { ResolvedProps } from './resolved-props.ts';

/** A name of one's own. */
interface OwnDomain {
  readonly domainName: string;
  readonly certificate: ICertificate;
  readonly hostedZone: IHostedZone | undefined;
}

const { GET, HEAD, POST } = HttpMethod;

/**
 * What is closed. The two routes that stand alone do what those above them do: with them, a policy of IAM can name just
 * these. Methods are named, since a route for any would hand the preflights of browsers to the authorizer.
 */
const CLOSED: readonly (readonly [path: string, methods: HttpMethod[]])[] = [
  ['/api/{proxy+}', [GET, HEAD, POST]],
  ['/console', [GET, HEAD]],
  ['/console/{proxy+}', [GET, HEAD, POST]],
  ['/api/runs', [POST]],
  ['/api/runs/{run}/approvals/{approval}/decide', [POST]],
];

/** What a link opens, and the way to the console. */
const OPEN: readonly (readonly [path: string, methods: HttpMethod[], why: string])[] = [
  [
    '/approvals/{proxy+}',
    [GET, HEAD, POST],
    'Whoever has a link may answer it: 256 random bits open one approval for one person. Nothing else is behind this route.',
  ],
  ['/', [GET, HEAD], 'It leads to the console, which is closed, and says nothing.'],
];

/** An HTTP API before the function `api`: closed by one authorizer, but for links. */
export class HttpEndpoint extends Construct {
  readonly api: HttpApi;
  /** Without a slash at its end. */
  readonly url: string;

  constructor(
    scope: Construct,
    id: string,
    options: {
      readonly function: IFunction;
      readonly authorizer: IHttpRouteAuthorizer;
      readonly description: string;
      readonly domain?: OwnDomain | undefined;
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
      ...(corsOrigins.length > 0 && { corsPreflight: cors(corsOrigins) }),
    });
    for (const [path, methods] of CLOSED) this.api.addRoutes({ path, methods, integration, authorizer });
    for (const [path, methods, why] of OPEN)
      for (const route of this.api.addRoutes({ path, methods, integration, authorizer: new HttpNoneAuthorizer() }))
        acknowledge(route, { 'AwsSolutions-APIG4': why });
    const own = domain && named(this, domain);
    new HttpStage(this, 'Stage', {
      httpApi: this.api,
      stageName: '$default',
      autoDeploy: true,
      throttle: { rateLimit: throttleRate, burstLimit: throttleBurst },
      detailedMetricsEnabled: true,
      accessLogSettings: {
        destination: new LogGroupLogDestination(newLogGroup(this, 'AccessLog', props)),
        format: AccessLogFormat.custom(JSON.stringify(ACCESS)),
      },
      ...(own && { domainMapping: { domainName: own } }),
    });
    this.url = domain ? `https://${domain.domainName}` : this.api.apiEndpoint;
  }

  /** What a policy calls a route of this. */
  routeArn(method: HttpMethod, path: string): string {
    const verb = method === HttpMethod.ANY ? '*' : method;
    return Stack.of(this).formatArn({
      service: 'execute-api',
      resource: this.api.apiId,
      resourceName: `*/${verb}${path}`,
    });
  }
}

/**
 * The API for callers by IAM, with links and the domain; and, where their tokens are known, one for callers by JWT, which may
 * come and go without a change of the first.
 */
export function createHttpEndpoints(
  scope: Construct,
  fn: IFunction,
  props: ResolvedProps,
): { readonly iam: HttpEndpoint; readonly jwt: HttpEndpoint | undefined } {
  const { jwt, domainName, certificate, hostedZone } = props;
  const domain = domainName !== undefined && certificate ? { domainName, certificate, hostedZone } : undefined;
  return {
    iam: new HttpEndpoint(scope, 'HttpApi', {
      ...{ function: fn, props, authorizer: new HttpIamAuthorizer() },
      description: 'Waitstate, for callers by IAM',
      domain,
    }),
    jwt:
      jwt &&
      new HttpEndpoint(scope, 'JwtHttpApi', {
        ...{ function: fn, props, description: 'Waitstate, for callers by JWT' },
        authorizer: new HttpJwtAuthorizer('Jwt', jwt.issuer, { jwtAudience: [...jwt.audience] }),
      }),
  };
}

/** A line for each request. The route stands for the path, which holds the token of a link. */
const ACCESS = {
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

const cors = (origins: readonly string[]) => ({
  allowOrigins: [...origins],
  allowMethods: [CorsHttpMethod.GET, CorsHttpMethod.POST],
  allowHeaders: ['authorization', 'content-type', 'idempotency-key', 'if-match', 'if-none-match'],
  exposeHeaders: ['etag', 'location'],
  maxAge: Duration.hours(1),
});

function named(scope: Construct, { domainName, certificate, hostedZone }: OwnDomain): DomainName {
  const own = new DomainName(scope, 'Domain', { domainName, certificate, securityPolicy: SecurityPolicy.TLS_1_2 });
  if (hostedZone)
    new ARecord(scope, 'Record', {
      zone: hostedZone,
      recordName: domainName,
      target: RecordTarget.fromAlias(
        new ApiGatewayv2DomainProperties(own.regionalDomainName, own.regionalHostedZoneId),
      ),
    });
  return own;
}
