import { constants } from 'node:fs';
import { access, open, rm, stat, statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { findRunningServer } from '../../dev/server/server-file.ts';
import type { Target } from '../../target/target.ts';
import { pluralize } from '../output/print-result.ts';
import { checkNotifications } from './check-notifications.ts';
import { errorSummary, type Finding, fail, ok, warn } from './finding.ts';

/** Checks a folder on this machine: that it is writable, that its store opens, and that a server runs on it. */
export async function* checkFolder(folder: string, openTarget: () => Promise<Target>): AsyncGenerator<Finding> {
  const found = await checkWritable(folder);
  yield found;
  if (found.status === 'fail') return;
  yield await checkDisk(folder);
  if (await exists(join(folder, 'records.sqlite'))) {
    yield await checkStore(openTarget);
    yield await checkNotifications(openTarget);
  }
  yield await checkServer(folder);
}

async function checkWritable(folder: string): Promise<Finding> {
  const there = await stat(folder).catch(() => undefined);
  if (there && !there.isDirectory())
    return fail('folder', `${folder} is a file`, 'Move the file, or choose another folder with --folder.');
  if (!there) return checkParent(folder);
  const probe = join(folder, `.doctor-${process.pid}`);
  try {
    await (await open(probe, 'wx', 0o600)).close();
    await rm(probe);
    return ok('folder', `${folder} is writable`);
  } catch (error) {
    return fail(
      'folder',
      `${folder} is not writable: ${errorSummary(error)}`,
      'Change its owner (chown), or choose another folder with --folder.',
    );
  }
}

/** A missing folder is created on first use, if its parent is writable. */
async function checkParent(folder: string): Promise<Finding> {
  let parent = dirname(resolve(folder));
  while (!(await exists(parent))) parent = dirname(parent);
  try {
    await access(parent, constants.W_OK | constants.X_OK);
    if (!(await stat(parent)).isDirectory()) throw new Error(`${parent} is a file`);
  } catch (error) {
    return fail(
      'folder',
      `${folder} does not exist and cannot be created: ${errorSummary(error)}`,
      'Choose another folder with --folder.',
    );
  }
  return warn(
    'folder',
    `${folder} does not exist yet`,
    'Check the current directory. "waitstate dev" and "waitstate start" create the folder.',
  );
}

const exists = (path: string): Promise<boolean> => stat(path).then(Boolean, () => false);

const MB = 1024 * 1024;
// The file system types on which SQLite's write-ahead log does not work: NFS, SMB and CIFS.
const NETWORK_FILE_SYSTEMS = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42]);

async function checkDisk(folder: string): Promise<Finding> {
  let there = resolve(folder);
  while (!(await exists(there))) there = dirname(there);
  const { bavail, bsize, type } = await statfs(there);
  if (NETWORK_FILE_SYSTEMS.has(type))
    return fail(
      'disk',
      `${folder} is on a network file system`,
      'Use a folder on a local disk: the store needs shared memory for its locks.',
    );
  const free = Math.floor((bavail * bsize) / MB);
  const text =
    free >= 10_240 ? `${Math.floor(free / 1024).toLocaleString('en')} GB free` : `${free.toLocaleString('en')} MB free`;
  if (free < 50) return fail('disk', text, 'Free disk space before you start runs: a full disk stops every run.');
  return free < 1024
    ? warn('disk', text, 'Free disk space, or prune old runs with "waitstate prune RUN --keep-last N".')
    : ok('disk', text);
}

async function checkStore(openTarget: () => Promise<Target>): Promise<Finding> {
  try {
    const { operator } = await openTarget();
    const counts = Object.values(await operator.counts());
    const runs = counts.reduce((sum, { count }) => sum + count, 0);
    const hasMore = counts.some((count) => count.hasMore);
    return ok('store', `opens; ${hasMore ? 'more than ' : ''}${pluralize(runs, 'run')} of tenant "${operator.tenant}"`);
  } catch (error) {
    return fail('store', errorSummary(error), 'Restore the folder from a backup, or move it and start with a new one.');
  }
}

async function checkServer(folder: string): Promise<Finding> {
  const advice = 'Start one, so that runs execute: waitstate dev AGENT-FILES.';
  const server = await findRunningServer(folder);
  if (!server) return warn('server', 'no server is running', advice);
  const { origin } = new URL(server.url);
  const response = await fetch(origin, { redirect: 'manual', signal: AbortSignal.timeout(3_000) }).catch(
    () => undefined,
  );
  await response?.body?.cancel();
  if (response && response.status < 500) return ok('server', `${origin}, pid ${server.pid}`);
  return fail(
    'server',
    `${origin} (pid ${server.pid}) does not respond`,
    'Stop that process, then start the server again.',
  );
}
