import { memoryStorage } from '../../../lambda/storage/memory.ts';
import { approvalsContract } from './contract.ts';

approvalsContract('memory', () => memoryStorage());
