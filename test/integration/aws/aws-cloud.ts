import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CloudFormationClient } from '@aws-sdk/client-cloudformation';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { S3Client } from '@aws-sdk/client-s3';
import * as z from 'zod';
import { STACK_OUTPUTS } from '../../../lambda/handlers/stack-outputs.ts';
import type { Cloud } from '../cloud.ts';
import { SetupError } from '../setup-error.ts';
import { emptyBucket } from './empty-bucket.ts';
import { runProgram } from './program.ts';
import { identityOf, isBootstrapped, messagesIn } from './questions.ts';
import type { Signing } from './signed-call.ts';
import { nameOf, namesOf, resourcesOf } from './stack-resources.ts';

const CDK = fileURLToPath(new URL('../../../node_modules/aws-cdk/bin/cdk', import.meta.url));
const WAITSTATE = fileURLToPath(new URL('../../../cli/main.ts', import.meta.url));

const Outputs = z.record(z.string(), z.looseObject({ [STACK_OUTPUTS.apiUrl]: z.string() }));

/** AWS with the credentials and region of the SDK; `line` receives the output of child programs. */
export function awsCloud({ line }: { line(text: string): void }): Cloud {
  const stacks = new CloudFormationClient({});

  async function signing(): Promise<Signing> {
    const region = await stacks.config.region().catch((cause: Error) => {
      throw new SetupError('No region was found. Set AWS_REGION, or AWS_PROFILE to a profile that has one.', {
        cause,
      });
    });
    const credentials = await stacks.config.credentials().catch((cause: Error) => {
      throw new SetupError(
        `No AWS credentials were found. Log in (for example with "aws sso login"), or set AWS_PROFILE or AWS_ACCESS_KEY_ID. The SDK reports: ${cause.message}`,
        { cause },
      );
    });
    return { region, credentials };
  }

  const runOptions = async (signal: AbortSignal) => {
    const { region } = await signing();
    return { environment: { AWS_REGION: region, AWS_DEFAULT_REGION: region }, signal, line };
  };

  /** Runs CDK on the app of this repository, with its output in a temporary folder. */
  async function cdk(command: string, stack: string, options: readonly string[], signal: AbortSignal): Promise<void> {
    const output = await mkdtemp(join(tmpdir(), 'waitstate-integ-'));
    const context = ['-c', `stack=${stack}`, '-c', 'disposable=true'];
    const args = [command, stack, ...context, ...options, '--output', output, '--no-notices', '--ci'];
    try {
      const code = await runProgram(CDK, args, await runOptions(signal));
      if (code !== 0) throw new Error(`"cdk ${command}" failed with exit code ${code}. See its output above.`);
    } finally {
      await rm(output, { recursive: true, force: true });
    }
  }

  async function existing(stack: string) {
    const resources = await resourcesOf(stacks, stack);
    if (!resources) throw new Error(`The stack ${stack} does not exist.`);
    return resources;
  }

  return {
    account: async () => identityOf(await signing()),
    isBootstrapped: async () => isBootstrapped(await signing()),

    async deploy(stack, operators, signal) {
      const folder = await mkdtemp(join(tmpdir(), 'waitstate-integ-'));
      const file = join(folder, 'outputs.json');
      const options = ['-c', `operators=${operators}`, '--require-approval', 'never', '--progress', 'events'];
      try {
        await cdk('deploy', stack, [...options, '--outputs-file', file], signal);
        const { [stack]: outputs } = Outputs.parse(JSON.parse(await readFile(file, 'utf8')));
        if (!outputs) throw new Error(`"cdk deploy" wrote no outputs for ${stack}.`);
        return { apiUrl: outputs[STACK_OUTPUTS.apiUrl] };
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },

    async invoke(stack, handler) {
      const id = `Waitstate${handler.charAt(0).toUpperCase()}${handler.slice(1)}`;
      const FunctionName = nameOf(await existing(stack), 'AWS::Lambda::Function', id);
      const { FunctionError, Payload } = await new LambdaClient({}).send(
        new InvokeCommand({ FunctionName, Payload: '{}' }),
      );
      const text = Buffer.from(Payload ?? []).toString();
      if (FunctionError) throw new Error(`The function ${FunctionName} failed: ${text}`);
      return JSON.parse(text);
    },

    deadLetters: async (stack) => messagesIn(await signing(), nameOf(await existing(stack), 'AWS::SQS::Queue')),
    doctor: async (stack, signal) => runProgram(WAITSTATE, ['doctor', '--stack', stack], await runOptions(signal)),

    async empty(stack, signal) {
      const resources = (await resourcesOf(stacks, stack)) ?? [];
      const client = new S3Client(hasCustomEndpoint() ? { forcePathStyle: true } : {});
      for (const bucket of namesOf(resources, 'AWS::S3::Bucket')) await emptyBucket(client, bucket, signal);
    },

    destroy: (stack, signal) => cdk('destroy', stack, ['--force'], signal),

    async left(stack) {
      const resources = await resourcesOf(stacks, stack);
      if (!resources) return [];
      const named = resources.map(({ ResourceType: type = '', PhysicalResourceId: name = '' }) => ({ type, name }));
      return [{ type: 'AWS::CloudFormation::Stack', name: stack }, ...named];
    },
  };
}

// Local engines do not resolve bucket names as hosts.
const hasCustomEndpoint = (): boolean => Boolean(process.env.AWS_ENDPOINT_URL_S3 || process.env.AWS_ENDPOINT_URL);
