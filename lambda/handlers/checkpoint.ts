import { s3SignedUrls } from '../storage/s3/signed-urls.ts';
import { createCheckpointHandler } from './factories/create-checkpoint-handler.ts';
import { contextFactoryFrom, lazyHandler } from './lazy-handler.ts';
import { powertoolsTelemetry } from './powertools.ts';

export type { CheckpointResponse } from './factories/create-checkpoint-handler.ts';

/** Saves checkpoints, approvals and waits of agents in other languages. */
export const handler = lazyHandler('checkpoint', (environment) =>
  createCheckpointHandler({
    contexts: contextFactoryFrom(environment),
    signedUrls: s3SignedUrls(environment),
    telemetry: powertoolsTelemetry('checkpoint', environment),
  }),
);
