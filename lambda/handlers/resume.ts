import { s3SignedUrls } from '../storage/s3/signed-urls.ts';
import { lambdaFunctions } from './agent-functions.ts';
import { createResumeHandler } from './factories/create-resume-handler.ts';
import { contextFactoryFrom, lazyHandler } from './lazy-handler.ts';
import { powertoolsTelemetry } from './powertools.ts';

export type { BatchResponse, StreamEvent, StreamRecord } from './stream-records.ts';

/** Invokes the agents of runs that became ready, from the table's stream. */
export const handler = lazyHandler('resume', (environment) =>
  createResumeHandler({
    contexts: contextFactoryFrom(environment),
    agents: environment.agents,
    functions: lambdaFunctions(),
    signedUrls: s3SignedUrls(environment),
    telemetry: powertoolsTelemetry('resume', environment),
  }),
);
