import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { embeddedStorage } from '../../../lambda/storage/embedded/embedded-storage.ts';
import { approvalsContract } from './contract.ts';

const folder = mkdtempSync(join(tmpdir(), 'waitstate-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

approvalsContract('a folder', () => embeddedStorage({ folder }));
