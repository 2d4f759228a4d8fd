// Runs a program from a folder's packages, which are installed when first needed: node tools/run.mjs FOLDER PROGRAM ARGS…
import { spawnSync } from 'node:child_process';
import { delimiter, resolve } from 'node:path';
import { install } from './install.mjs';

const [folder, program, ...args] = process.argv.slice(2);
install(folder);
const PATH = [resolve(folder, 'node_modules/.bin'), process.env.PATH].join(delimiter);
const { status } = spawnSync(program, args, { env: { ...process.env, PATH }, stdio: 'inherit' });
process.exitCode = status ?? 1;
