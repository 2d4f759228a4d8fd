// Writes the reports of the public surface and the schema of the protocol, for review: `npm run surface`.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { protocolSchema } from '../../../lambda/api/protocol-schema.ts';
import { emitDeclarations, removeTemporaryFolders, temporaryFolder } from '../pack.ts';
import { SNAPSHOTS, snapshotFile, surfaceOf } from './snapshot.ts';

const folder = temporaryFolder();
await emitDeclarations(folder);
const reports = surfaceOf(folder);
rmSync(SNAPSHOTS, { recursive: true, force: true });
for (const [entry, report] of reports) {
  const file = join(SNAPSHOTS, snapshotFile(entry));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, report);
}
removeTemporaryFolders();
writeFileSync('docs/reference/protocol.schema.json', `${JSON.stringify(protocolSchema(), undefined, 2)}\n`);
