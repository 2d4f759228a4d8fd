import { s3SignedUrls } from '../storage/s3/signed-urls.ts';
import { lambdaFunctions } from './agent-functions.ts';
import { createSweepHandler } from './factories/create-sweep-handler.ts';
import { contextFactoryFrom, lazyHandler } from './lazy-handler.ts';
import { powertoolsTelemetry } from './powertools.ts';
import { publishEvents } from './publish-events.ts';

export type { SweepReport } from '../runtime/control/sweep.ts';
export type { CollectResponse, SweepResponse } from './factories/create-sweep-handler.ts';

/** Processes timers, timeouts, retries and retention that are due, and collects payloads, on schedules. */
export const handler = lazyHandler('sweep', (environment) =>
  createSweepHandler({
    contexts: contextFactoryFrom(environment),
    agents: environment.agents,
    functions: lambdaFunctions(),
    signedUrls: s3SignedUrls(environment),
    publish: publishEvents(environment),
    approvalUrl: environment.approvalUrl,
    tenants: environment.tenants,
    telemetry: powertoolsTelemetry('sweep', environment),
  }),
);
