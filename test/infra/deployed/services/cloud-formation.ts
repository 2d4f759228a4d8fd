import type { Deployed } from '../resolve.ts';
import type { Service, ServiceResponse } from './service.ts';

/**
 * CloudFormation with one stack, which callers describe by name.
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/control-access-with-iam.html
 */
export function cloudFormation({ target, outputs }: Deployed): Service {
  const { name, stackName = name, region, accountId } = target;
  return {
    wanted({ body }) {
      const parameters = new URLSearchParams(body.toString());
      if (parameters.get('Action') !== 'DescribeStacks' || parameters.get('StackName') !== stackName)
        throw new Error(`CloudFormation ${body} is not implemented in services/cloud-formation.ts.`);
      // A request by name does not contain the UUID, so a policy with the UUID does not match it.
      const resource = `arn:aws:cloudformation:${region}:${accountId}:stack/${stackName}/*`;
      return [{ action: 'cloudformation:DescribeStacks', resource }];
    },
    async respond() {
      const members = Object.entries(outputs).map(
        ([key, value]) => `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`,
      );
      return xml(
        200,
        `<DescribeStacksResponse xmlns="${NAMESPACE}"><DescribeStacksResult><Stacks><member><StackName>${stackName}</StackName><Outputs>${members.join('')}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`,
      );
    },
    denied: (message) =>
      xml(
        403,
        `<ErrorResponse xmlns="${NAMESPACE}"><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>${message}</Message></Error></ErrorResponse>`,
      ),
  };
}

const NAMESPACE = 'http://cloudformation.amazonaws.com/doc/2010-05-15/';

const xml = (status: number, body: string): ServiceResponse => ({
  status,
  headers: { 'content-type': 'text/xml' },
  body,
});
