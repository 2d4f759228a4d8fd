import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { GetObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { onTestFinished } from 'vitest';
import { signatureProblem } from '../cli/signature.ts';
import { ACCOUNT, CALLER, KEY, REGION } from './rehearsal.ts';

interface Resource {
  readonly Type: string;
  readonly Properties?: Readonly<Record<string, unknown>>;
  readonly DeletionPolicy?: string;
}

/** A template that CDK uploaded. */
export interface Template {
  readonly Resources: Readonly<Record<string, Resource>>;
  readonly Outputs?: Readonly<Record<string, unknown>>;
}

export interface FakeAws {
  /** The storage to which CDK uploads templates. */
  readonly s3: S3Client;
  readonly caller?: string;
  /** @default true */
  readonly isBootstrapped?: boolean | 'access denied';
  /** Values of outputs by name, and names of resources by type. */
  readonly names: Readonly<Record<string, string>>;
  /** Called before each request is handled. */
  onRequest?(action: string): Promise<void> | void;
  deployed?(template: Template): void;
  invoke?(name: string): Promise<unknown>;
  readonly deadLetters?: number;
}

type Form = URLSearchParams;

/**
 * A fake of the parts of STS, SSM, SQS, Lambda and CloudFormation that the test and CDK use, for one stack; it checks
 * signatures.
 */
export async function fakeAws(options: FakeAws) {
  const { s3, caller = CALLER, isBootstrapped = true, names, deadLetters = 0, onRequest = () => {} } = options;
  const requests: string[] = [];
  let stack: { readonly name: string; status: string; readonly template: Template } | undefined;

  const identity = `<Arn>${caller}</Arn><UserId>A</UserId><Account>${ACCOUNT}</Account>`;
  const nameOf = (id: string, type: string): string => names[type] ?? `${stack?.name}-${id}`;
  const xmlOf: Readonly<Record<string, (form: Form) => string | Promise<string>>> = {
    GetCallerIdentity: () => identity,
    // CDK then falls back to the current credentials.
    AssumeRole: () => refused('AccessDenied', 'You are not authorized.'),
    DescribeStacks: (form) => (stack ? `<Stacks><member>${stackXml(stack)}</member></Stacks>` : noStack(form)),
    async CreateChangeSet(form) {
      const { pathname } = new URL(form.get('TemplateURL') ?? '');
      const [Bucket, Key] = pathname.slice(1).split('/');
      const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }));
      const template = JSON.parse((await Body?.transformToString()) ?? '') as Template;
      stack = { name: form.get('StackName') ?? '', status: 'REVIEW_IN_PROGRESS', template };
      return '<Id>arn:change</Id><StackId>arn:stack</StackId>';
    },
    DescribeChangeSet: () =>
      '<ChangeSetId>arn:change</ChangeSetId><ChangeSetName>cdk</ChangeSetName><StackId>arn:stack</StackId><Status>CREATE_COMPLETE</Status><ExecutionStatus>AVAILABLE</ExecutionStatus><Changes><member><Type>Resource</Type></member></Changes>',
    ExecuteChangeSet(form) {
      if (!stack) return noStack(form);
      stack.status = 'CREATE_COMPLETE';
      options.deployed?.(stack.template);
      return '';
    },
    GetTemplate: () => '<TemplateBody>{}</TemplateBody>',
    DescribeStackEvents: () => '<StackEvents></StackEvents>',
    ListStackResources(form) {
      if (!stack) return noStack(form);
      const members = Object.entries(stack.template.Resources).map(
        ([id, { Type }]) =>
          `<member><LogicalResourceId>${id}</LogicalResourceId><PhysicalResourceId>${nameOf(id, Type)}</PhysicalResourceId><ResourceType>${Type}</ResourceType><ResourceStatus>CREATE_COMPLETE</ResourceStatus><LastUpdatedTimestamp>2026-01-01T00:00:00Z</LastUpdatedTimestamp></member>`,
      );
      return `<StackResourceSummaries>${members.join('')}</StackResourceSummaries>`;
    },
    DeleteStack() {
      stack = undefined;
      return '';
    },
  };
  const stackXml = ({ name, status, template }: NonNullable<typeof stack>): string => {
    const outputs = Object.keys(template.Outputs ?? {}).map(
      (key) => `<member><OutputKey>${key}</OutputKey><OutputValue>${names[key]}</OutputValue></member>`,
    );
    return `<StackName>${name}</StackName><StackId>arn:stack</StackId><CreationTime>2026-01-01T00:00:00Z</CreationTime><StackStatus>${status}</StackStatus><Outputs>${status === 'CREATE_COMPLETE' ? outputs.join('') : ''}</Outputs>`;
  };
  const jsonOf: Readonly<Record<string, () => FakeResponse>> = {
    'AmazonSSM.GetParameter': () => {
      if (isBootstrapped === true) return json(200, { Parameter: { Name: 'version', Value: '30' } });
      if (isBootstrapped === false) return json(400, { __type: 'ParameterNotFound' });
      return json(400, {
        __type: 'AccessDeniedException',
        Message: 'You are not authorized to perform ssm:GetParameter.',
      });
    },
    'AmazonSQS.GetQueueAttributes': () =>
      json(200, {
        Attributes: { ApproximateNumberOfMessages: `${deadLetters}`, ApproximateNumberOfMessagesNotVisible: '0' },
      }),
  };

  async function respondTo(request: IncomingMessage, body: Buffer): Promise<FakeResponse> {
    const service = /\/([\w-]+)\/aws4_request/.exec(request.headers.authorization ?? '')?.[1] ?? 'none';
    const problem = signatureProblem(request, body, KEY, REGION, service);
    if (problem !== undefined) return { status: 403, body: refused('SignatureDoesNotMatch', problem) };
    const [, invoked] = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/.exec(request.url ?? '') ?? [];
    const form = new URLSearchParams(body.toString());
    const action = invoked ? `Invoke ${invoked}` : String(request.headers['x-amz-target'] ?? form.get('Action'));
    requests.push(action);
    await onRequest(action);
    if (invoked) return json(200, await options.invoke?.(invoked));
    const known = jsonOf[action];
    if (known) return known();
    const xml = (await xmlOf[action]?.(form)) ?? refused('InvalidAction', `${service} ${action} is not implemented.`);
    const isError = xml.startsWith('<ErrorResponse>');
    return {
      status: isError ? 400 : 200,
      body: isError ? xml : `<${action}Response><${action}Result>${xml}</${action}Result></${action}Response>`,
    };
  }

  const noStack = (form: Form): string =>
    refused('ValidationError', `Stack with id ${form.get('StackName')} does not exist`);
  const server = createServer(async (request, response) => {
    const { status, body } = await respondTo(request, await buffer(request));
    response.writeHead(status, { 'content-type': body.startsWith('<') ? 'text/xml' : 'application/json' }).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    requests,
    hasStack: () => stack !== undefined,
  };
}

interface FakeResponse {
  readonly status: number;
  readonly body: string;
}

const json = (status: number, value: unknown): FakeResponse => ({ status, body: JSON.stringify(value) });

const refused = (code: string, message: string): string =>
  `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`;
