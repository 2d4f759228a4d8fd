import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NotAvailableError } from '../../not-available.ts';

const POM = fileURLToPath(new URL('./pom.xml', import.meta.url));
const FOLDER = fileURLToPath(new URL('../../../node_modules/.cache/waitstate/dynamodb-local', import.meta.url));
const COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.7.0:copy-dependencies';
const MIN_JAVA = 17;

/** The folder with the JAR files of DynamoDB Local, which Maven fetches once for each version. */
export function fetchDynamoLocal(): string {
  checkPlatform();
  checkJava();
  const pom = readFileSync(POM, 'utf8');
  const fetched = join(FOLDER, 'fetched.xml');
  if (existsSync(fetched) && readFileSync(fetched, 'utf8') === pom) return FOLDER;
  rmSync(FOLDER, { recursive: true, force: true });
  const args = ['--batch-mode', '--quiet', '--strict-checksums', '--file', POM, COPY, `-DoutputDirectory=${FOLDER}`];
  const { status, error, stdout } = spawnSync('mvn', [...args, '-DincludeScope=runtime'], { encoding: 'utf8' });
  if (error) throw new NotAvailableError(`Maven is needed to fetch it, and cannot be started: ${error.message}`);
  if (status !== 0) throw new NotAvailableError(`Maven could not fetch it: ${stdout.trim().split('\n')[0]}`);
  writeFileSync(fetched, pom);
  return FOLDER;
}

/** It stores data with a native library, which it has only for these platforms. */
function checkPlatform(): void {
  if (process.arch !== 'x64' || !['linux', 'darwin', 'win32'].includes(process.platform))
    throw new NotAvailableError(`It has no native library for ${process.platform}-${process.arch}.`);
}

function checkJava(): void {
  const { error, stderr } = spawnSync('java', ['-version'], { encoding: 'utf8' });
  if (error) throw new NotAvailableError(`Java ${MIN_JAVA} is needed, and cannot be started: ${error.message}`);
  const [, version = 'unknown'] = /version "([^"]+)"/.exec(stderr) ?? [];
  if (!(Number.parseInt(version, 10) >= MIN_JAVA))
    throw new NotAvailableError(`Java ${MIN_JAVA} or later is needed; found ${version}.`);
}
