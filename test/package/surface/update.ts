// Writes the reports of the public surface, for review: `npm run surface`.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
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
