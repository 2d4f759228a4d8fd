import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

/** The outputs of stacks by their names. */
export type Stacks = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Starts a fake CloudFormation that returns the outputs of stacks, and returns its URL. */
export async function fakeCloudFormation(stacks: Stacks): Promise<string> {
  const server = createServer(async (request, response) => {
    const parameters = new URLSearchParams(await text(request));
    const name = parameters.get('StackName') ?? '';
    const outputs = parameters.get('Action') === 'DescribeStacks' ? stacks[name] : undefined;
    response
      .writeHead(outputs ? 200 : 400, { 'content-type': 'text/xml' })
      .end(outputs ? stackXml(name, outputs) : errorXml(name));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
}

const stackXml = (name: string, outputs: Readonly<Record<string, string>>): string =>
  `<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult><Stacks><member>
  <StackName>${name}</StackName><CreationTime>2026-01-01T00:00:00Z</CreationTime><StackStatus>CREATE_COMPLETE</StackStatus><Outputs>
  ${Object.entries(outputs)
    .map(([key, value]) => `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`)
    .join('')}
  </Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`;

const errorXml = (name: string): string =>
  `<ErrorResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><Error><Type>Sender</Type>
  <Code>ValidationError</Code><Message>Stack with id ${name} does not exist</Message></Error></ErrorResponse>`;
