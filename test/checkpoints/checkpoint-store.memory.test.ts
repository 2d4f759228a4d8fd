import { memoryStorage } from '../../lambda/storage/memory.ts';
import { checkpointStoreContract } from '../contract/checkpoint-store/contract.ts';

checkpointStoreContract('memory', () => memoryStorage());
