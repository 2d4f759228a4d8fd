import type { Account } from '../cloud.ts';
import { SetupError } from '../setup-error.ts';
import { type Signing, signedCall } from './signed-call.ts';

/** The identity of these credentials. https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html */
export async function identityOf(signing: Signing): Promise<Account> {
  const call = { service: 'sts', headers: FORM, body: 'Action=GetCallerIdentity&Version=2011-06-15' } as const;
  const response = await signedCall(signing, call).catch((error: Error) => {
    throw new SetupError(`STS in ${signing.region} does not respond: ${String(error.cause ?? error)}.`, {
      cause: error,
    });
  });
  const xml = await response.text();
  const of = (tag: string): string => new RegExp(`<${tag}>([^<]*)</${tag}>`).exec(xml)?.[1] ?? '';
  if (!response.ok || of('Arn') === '')
    throw new SetupError(
      `AWS rejected the credentials: ${of('Code') || response.status} ${of('Message')}. Log in again (for example with "aws sso login"), or check AWS_PROFILE.`,
    );
  return { id: of('Account'), caller: of('Arn'), region: signing.region };
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

/**
 * Whether `cdk bootstrap` was run here, which stores its version. If the check is denied, the answer is true: CDK
 * reports it.
 * https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetParameter.html
 */
export async function isBootstrapped(signing: Signing): Promise<boolean> {
  const response = await signedCall(signing, {
    service: 'ssm',
    headers: { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': 'AmazonSSM.GetParameter' },
    body: JSON.stringify({ Name: '/cdk-bootstrap/hnb659fds/version' }),
  });
  return response.ok || !(await response.text()).includes('ParameterNotFound');
}

/**
 * The number of messages in a queue, including those in flight.
 * https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_GetQueueAttributes.html
 */
export async function messagesIn(signing: Signing, queueUrl: string): Promise<number> {
  const names = ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'];
  const response = await signedCall(signing, {
    service: 'sqs',
    headers: { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': 'AmazonSQS.GetQueueAttributes' },
    body: JSON.stringify({ QueueUrl: queueUrl, AttributeNames: names }),
  });
  const text = await response.text();
  if (!response.ok)
    throw new Error(`The messages in the dead-letter queue could not be counted: ${response.status} ${text}`);
  const { Attributes = {} } = JSON.parse(text) as { Attributes?: Readonly<Record<string, string>> };
  return names.reduce((sum, name) => sum + Number(Attributes[name]), 0);
}
