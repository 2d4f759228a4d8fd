// Runs the S3 engine in its own process, so that it does not block the event loop of tests and measurements.
import { startFauxqs } from 'fauxqs';

const server = await startFauxqs({ port: 0, logger: false });
process.send?.(server.port);
process.once('disconnect', () => process.exit());
