import { awsStorage } from '../../engines/engines.ts';
import { approvalsContract } from './contract.ts';

approvalsContract('DynamoDB and S3', () => awsStorage());
