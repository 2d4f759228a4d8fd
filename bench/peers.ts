import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { print } from './table.ts';

const FOLDER = fileURLToPath(new URL('./peers', import.meta.url));

/** Which peers can be run here. */
export interface Peers {
  readonly hasDynamodb: boolean;
  readonly hasDurable: boolean;
  readonly hasSqlite: boolean;
}

export const NO_PEERS: Peers = { hasDynamodb: false, hasDurable: false, hasSqlite: false };

/** Installs the peers where they are not yet, and says so; what cannot be had here is left out. */
export function installPeers(): Peers {
  const isThere = ['@rwai', '@aws/durable-execution-sdk-js-testing'].every((each) =>
    existsSync(join(FOLDER, 'node_modules', each)),
  );
  if (!isThere && !attempt('npm ci in bench/peers', 'ci', '--ignore-scripts')) return NO_PEERS;
  // A native module: it must be built for the very Node that runs it.
  const sqlite =
    sqliteLoads() || (attempt('building better-sqlite3 for this Node', 'rebuild', 'better-sqlite3') && sqliteLoads());
  if (!sqlite)
    print(`better-sqlite3 does not load in Node ${process.version}, so LangGraph's SQLite saver is left out.`);
  return { hasDynamodb: true, hasDurable: true, hasSqlite: sqlite };
}

function attempt(what: string, ...args: readonly string[]): boolean {
  print(`Peers: ${what} …`);
  const env = {
    ...process.env,
    PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
    ...headers(),
    npm_config_build_from_source: 'true',
  };
  try {
    execFileSync('npm', args, { cwd: FOLDER, env, stdio: ['ignore', 'ignore', 'pipe'], timeout: 600_000 });
    return true;
  } catch (error) {
    print(`Peers: ${what} failed, so this run goes on without. ${String(error).slice(0, 500)}`);
    return false;
  }
}

/** In a process of its own: built for the wrong Node, it aborts. */
function sqliteLoads(): boolean {
  try {
    const program = "new (require('better-sqlite3'))(':memory:').close()";
    execFileSync(process.execPath, ['-e', program], { cwd: FOLDER, stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** The `node` package brings the headers of its Node: what is built with them fits the Node that runs this. */
function headers(): { npm_config_nodedir?: string } {
  try {
    const ofNode = createRequire(createRequire(import.meta.url).resolve('node/package.json'));
    const nodedir = dirname(ofNode.resolve(`node-${process.platform}-${process.arch}/package.json`));
    return existsSync(join(nodedir, 'include/node/node.h')) ? { npm_config_nodedir: nodedir } : {};
  } catch {
    return {};
  }
}

export type SqliteWork = 'steps' | 'steps-full' | 'function' | 'conversation';

/** How long a work took by itself, its CPU included, and how long it takes to go on from its end. */
export interface Times {
  readonly seconds: number;
  readonly cpuMs: number;
  readonly resumeMs?: number;
}

/** Runs LangGraph's SQLite saver in a process of its own. */
export const sqlitePeer = (folder: string, work: SqliteWork, steps: number): Times =>
  runProgram(join(FOLDER, 'sqlite.mjs'), folder, work, steps);

/** Runs AWS's durable execution SDK in a process of its own; it keeps everything in memory. */
export const durablePeer = (folder: string, work: 'memory' | 'runner', steps: number): Times =>
  runProgram(join(FOLDER, 'durable.mjs'), folder, work, steps);

/** Runs a program that prints its times. */
export function runProgram(program: string, folder: string, work: string, steps: number): Times {
  const args = [program, folder, work, String(steps)];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }));
}
