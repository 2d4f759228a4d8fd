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
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import type { ICertificate } from 'aws-cdk-lib/aws-certificatemanager';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { ARecord, type IHostedZone, RecordTarget } from 'aws-cdk-lib/aws-route53';
import { ApiGatewayv2DomainProperties } from 'aws-cdk-lib/aws-route53-targets';
import { Construct } from 'constructs';
import { acknowledge } from './acknowledge.ts';
import { newLogGroup } from './functions.ts';
import type { HoldpointProps } from './holdpoint-props.ts';

/** A name of one's own. */
export interface OwnDomain {
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
export class HttpEntrance extends Construct {
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
      readonly props: HoldpointProps;
    },
  ) {
    super(scope, id);
    const { function: behind, authorizer, description, domain, props } = options;
    const { corsOrigins, throttleRate = 100, throttleBurst = 200 } = props;
    const integration = new HttpLambdaIntegration('Function', behind, { scopePermissionToRoute: false });
    this.api = new HttpApi(this, 'Http', {
      apiName: Names.uniqueResourceName(this, { maxLength: 100, separator: '-' }),
      description,
      createDefaultStage: false,
      ...(corsOrigins?.length && { corsPreflight: cors(corsOrigins) }),
    });
    for (const [path, methods] of CLOSED) this.api.addRoutes({ path, methods, integration, authorizer });
    for (const [path, methods, why] of OPEN)
      for (const route of this.api.addRoutes({ path, methods, integration, authorizer: new HttpNoneAuthorizer() }))
        acknowledge(route, { 'AwsSolutions-APIG4': why });
    const own = domain && ownDomain(this, domain);
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
  arnOf(method: HttpMethod, path: string): string {
    const verb = method === HttpMethod.ANY ? '*' : method;
    return Stack.of(this).formatArn({
      service: 'execute-api',
      resource: this.api.apiId,
      resourceName: `*/${verb}${path}`,
    });
  }
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

function ownDomain(scope: Construct, { domainName, certificate, hostedZone }: OwnDomain): DomainName {
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
