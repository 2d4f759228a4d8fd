import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { install } from '../../tools/install.mjs';

export interface Engine {
  readonly endpoint: string;
  stop(): Promise<void>;
}

/** Starts an in-memory DynamoDB engine in its own process. */
export async function startDynamo(): Promise<Engine> {
  install('test/engines');
  return startServer(dynamoProgram(), (port) => ['serve', '--port', port]);
}

/** Starts a program that listens on a port; resolves when it answers. */
export async function startServer(program: string, argsFor: (port: string) => readonly string[]): Promise<Engine> {
  const endpoint = `http://127.0.0.1:${await freePort()}`;
  const engine = stopping(spawn(program, argsFor(new URL(endpoint).port), { stdio: 'ignore' }));
  while (!(await fetch(endpoint).then(Boolean, () => false))) {
    if (engine.process.exitCode !== null)
      throw new Error(`The DynamoDB engine exited with code ${engine.process.exitCode}.`);
    await setTimeout(20);
  }
  return { endpoint, stop: engine.stop };
}

/** Starts an in-memory S3 engine in its own process. */
export async function startS3(): Promise<Engine> {
  install('test/engines');
  const engine = stopping(fork(new URL('./s3-process.ts', import.meta.url), { execArgv: [], stdio: 'inherit' }));
  const [port] = await Promise.race([
    once(engine.process, 'message'),
    once(engine.process, 'exit').then(([code]) => Promise.reject(new Error(`The S3 engine exited with code ${code}.`))),
  ]);
  return { endpoint: `http://127.0.0.1:${port}`, stop: engine.stop };
}

function dynamoProgram(): string {
  const platform = `${process.platform}-${process.arch}`;
  try {
    return createRequire(import.meta.url).resolve(`@dynoxide/${platform}/dynoxide`);
  } catch {
    throw new Error(
      `No DynamoDB engine is installed for ${platform}. Start one, for example DynamoDB Local, and set DYNAMODB_ENDPOINT ` +
        'to its address, for example http://localhost:8000.',
    );
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : 0;
}

function stopping(child: ChildProcess) {
  const kill = () => void child.kill();
  process.once('exit', kill);
  return {
    process: child,
    async stop() {
      process.off('exit', kill);
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      kill();
      await ended;
    },
  };
}
