import { identifyFromAuthorizer } from '../http/authorizer-caller.ts';
import { s3SignedUrls } from '../storage/s3/signed-urls.ts';
import { readIamCallers, readJwtCallers } from './caller-maps.ts';
import { createApiHandler } from './factories/create-api-handler.ts';
import { contextFactoryFrom, lazyHandler } from './lazy-handler.ts';
import { powertoolsTelemetry } from './powertools.ts';

export type { HttpEvent, HttpResponse } from './factories/create-api-handler.ts';

/** Serves approval links, API and console behind API Gateway. */
export const handler = lazyHandler('api', (environment) => {
  const { jwtCallers, iamCallers } = environment;
  return createApiHandler({
    contexts: contextFactoryFrom(environment),
    identify: identifyFromAuthorizer({
      jwt: jwtCallers === undefined ? undefined : readJwtCallers(jwtCallers),
      iam: iamCallers === undefined ? undefined : readIamCallers(iamCallers),
    }),
    agents: environment.agents,
    signedUrls: s3SignedUrls(environment),
    corsOrigins: environment.corsOrigins,
    telemetry: powertoolsTelemetry('api', environment),
  });
});
