import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { print } from './table.ts';

const FOLDER = fileURLToPath(new URL('./peers', import.meta.url));

/** Which peers can run on this machine. */
export interface Peers {
  readonly hasDynamodb: boolean;
  readonly hasDurable: boolean;
  readonly hasSqlite: boolean;
}

export const NO_PEERS: Peers = { hasDynamodb: false, hasDurable: false, hasSqlite: false };

/** Installs the peers that are missing, and prints what it does; peers that cannot be installed are left out. */
export function installPeers(): Peers {
  const isInstalled = ['@rwai', '@aws/durable-execution-sdk-js-testing'].every((each) =>
    existsSync(join(FOLDER, 'node_modules', each)),
  );
  if (!isInstalled && !runNpm('npm ci in bench/peers', 'ci', '--ignore-scripts')) return NO_PEERS;
  // A native module must be built for the Node version that loads it.
  const sqlite =
    sqliteLoads() || (runNpm('building better-sqlite3 for this Node', 'rebuild', 'better-sqlite3') && sqliteLoads());
  if (!sqlite)
    print(`better-sqlite3 does not load in Node ${process.version}, so LangGraph's SQLite saver is left out.`);
  return { hasDynamodb: true, hasDurable: true, hasSqlite: sqlite };
}

function runNpm(what: string, ...args: readonly string[]): boolean {
  print(`Peers: ${what} …`);
  const env = {
    ...process.env,
    PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
    ...nodeHeaders(),
    npm_config_build_from_source: 'true',
  };
  try {
    execFileSync('npm', args, { cwd: FOLDER, env, stdio: ['ignore', 'ignore', 'pipe'], timeout: 600_000 });
    return true;
  } catch (error) {
    print(`Peers: ${what} failed, so the bench continues without it. ${String(error).slice(0, 500)}`);
    return false;
  }
}

/** Tries in a child process, because a module built for another Node version aborts the process. */
function sqliteLoads(): boolean {
  try {
    const program = "new (require('better-sqlite3'))(':memory:').close()";
    execFileSync(process.execPath, ['-e', program], { cwd: FOLDER, stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Headers of the Node version that runs this, with which native modules are built. */
function nodeHeaders(): { npm_config_nodedir?: string } {
  const installed = join(FOLDER, 'node_modules', `node-${process.platform}-${process.arch}`);
  const nodedir = [dirname(dirname(process.execPath)), installed].find(hasHeaders);
  return nodedir === undefined ? {} : { npm_config_nodedir: nodedir };
}

function hasHeaders(nodedir: string): boolean {
  const file = join(nodedir, 'include/node/node_version.h');
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const numbers = ['MAJOR', 'MINOR', 'PATCH'].map((part) => new RegExp(`NODE_${part}_VERSION (\\d+)`).exec(text)?.[1]);
  return numbers.join('.') === process.versions.node;
}

export type SqliteWork = 'steps' | 'steps-full' | 'function' | 'conversation';

/** How long a workload took, its CPU time, and how long resuming it takes at its end. */
export interface Times {
  readonly seconds: number;
  readonly cpuMs: number;
  readonly resumeMs?: number;
}

/** Runs LangGraph's SQLite saver in its own process. */
export const sqlitePeer = (folder: string, work: SqliteWork, steps: number): Times =>
  runProgram(join(FOLDER, 'sqlite.mjs'), folder, work, steps);

/** Runs AWS's durable execution SDK in its own process; it keeps everything in memory. */
export const durablePeer = (folder: string, work: 'memory' | 'runner', steps: number): Times =>
  runProgram(join(FOLDER, 'durable.mjs'), folder, work, steps);

/** Runs a program that prints its times as JSON. */
export function runProgram(program: string, folder: string, work: string, steps: number): Times {
  const args = [program, folder, work, String(steps)];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }));
}
