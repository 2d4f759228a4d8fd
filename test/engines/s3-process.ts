// The S3 engine in a process of its own, so that it takes no turns of whoever measures or tests against it.
import { startFauxqs } from 'fauxqs';

const server = await startFauxqs({ port: 0, logger: false });
process.send?.(server.port);
process.once('disconnect', () => process.exit());
