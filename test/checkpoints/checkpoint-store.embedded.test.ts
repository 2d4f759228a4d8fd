import { rmSync } from 'node:fs';
import { afterAll } from 'vitest';
import { embeddedStorage } from '../../lambda/storage/embedded/embedded-storage.ts';
import { checkpointStoreContract } from '../contract/checkpoint-store/contract.ts';
import { memoryFolder } from '../memory-folder.ts';

const folder = memoryFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

checkpointStoreContract('a folder', () => embeddedStorage({ folder }));
