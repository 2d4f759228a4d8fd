import { lambdaFunctions } from './agent-functions.ts';
import { createNotifyHandler } from './factories/create-notify-handler.ts';
import { contextFactoryFrom, lazyHandler } from './lazy-handler.ts';
import { powertoolsTelemetry } from './powertools.ts';
import { publishEvents } from './publish-events.ts';

export type { BatchResponse, StreamEvent, StreamRecord } from './stream-records.ts';

/** Sends notifications about approvals and publishes the ends of runs, from the table's stream. */
export const handler = lazyHandler('notify', (environment) =>
  createNotifyHandler({
    contexts: contextFactoryFrom(environment),
    agents: environment.agents,
    functions: lambdaFunctions(),
    publish: publishEvents(environment),
    approvalUrl: environment.approvalUrl,
    telemetry: powertoolsTelemetry('notify', environment),
  }),
);
