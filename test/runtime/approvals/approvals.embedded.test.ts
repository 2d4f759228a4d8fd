import { rmSync } from 'node:fs';
import { afterAll } from 'vitest';
import { embeddedStorage } from '../../../lambda/storage/embedded/embedded-storage.ts';
import { memoryFolder } from '../../memory-folder.ts';
import { approvalsContract } from './contract.ts';

const folder = memoryFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

approvalsContract('a folder', () => embeddedStorage({ folder }));
