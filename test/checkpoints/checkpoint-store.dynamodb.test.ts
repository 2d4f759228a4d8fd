import { checkpointStoreContract } from '../contract/checkpoint-store/contract.ts';
import { awsStorage } from '../engines/engines.ts';

checkpointStoreContract('DynamoDB and S3', () => awsStorage());
