import {
  BedrockRuntimeClient,
  type ContentBlock,
  ConverseStreamCommand,
  type ConverseStreamCommandOutput,
  type ConverseStreamOutput,
  type StopReason,
} from '@aws-sdk/client-bedrock-runtime';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { isWaitstateError } from 'waitstate';
import { testAgents } from 'waitstate/testing';
import { assistant } from '../../examples/model-loop/agent.ts';
import { outbox } from '../../examples/simulated/mail.ts';
import { exampleOf, freshServices } from './simulated.ts';

const example = exampleOf(assistant);

const MODEL = 'some.model-1:0';
const bedrock = mockClient(BedrockRuntimeClient);

/** A response that streams these blocks, each in two parts. */
const reply = (
  stopReason: StopReason,
  ...content: readonly { text?: string; toolUse?: ContentBlock.ToolUseMember['toolUse'] }[]
): Partial<ConverseStreamCommandOutput> => {
  const halves = (text: string) => [text.slice(0, text.length / 2), text.slice(text.length / 2)];
  const blocks = content.flatMap(({ text, toolUse }, contentBlockIndex): ConverseStreamOutput[] =>
    toolUse
      ? [
          { contentBlockStart: { start: { toolUse }, contentBlockIndex } } as ConverseStreamOutput,
          ...halves(JSON.stringify(toolUse.input)).map(
            (input) =>
              ({ contentBlockDelta: { delta: { toolUse: { input } }, contentBlockIndex } }) as ConverseStreamOutput,
          ),
        ]
      : halves(text ?? '').map(
          (part) => ({ contentBlockDelta: { delta: { text: part }, contentBlockIndex } }) as ConverseStreamOutput,
        ),
  );
  return {
    stream: (async function* () {
      yield* blocks;
      yield { messageStop: { stopReason } } as ConverseStreamOutput;
    })(),
  };
};

const count = { toolUseId: 'tool-1', name: 'count_customers', input: { city: 'Lisbon' } };
const mail = {
  toolUseId: 'tool-2',
  name: 'mail_customers',
  input: { city: 'Lisbon', subject: 'Friday', text: 'Closed.' },
};

const requests = () => bedrock.commandCalls(ConverseStreamCommand).map(({ args: [{ input }] }) => input);

freshServices();
beforeEach(() => {
  bedrock.reset();
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  vi.stubEnv('WAITSTATE_MODEL', MODEL);
});

describe('the model loop on Bedrock', () => {
  it('sends the conversation in the format of the Converse API', async () => {
    bedrock
      .on(ConverseStreamCommand)
      .resolvesOnce(reply('tool_use', { text: 'I count.' }, { toolUse: count }))
      .resolvesOnce(reply('tool_use', { toolUse: mail }))
      .resolvesOnce(reply('end_turn', { text: 'Nothing' }, { text: 'was sent.' }));
    const { start, skip } = testAgents(assistant);
    const run = await start(example);
    await run.reject('allow mail_customers', { comment: 'We are open.' });
    await skip({ minutes: 5 });
    expect(await run.result()).toEqual({ answer: 'Nothing\nwas sent.' });

    const [first, second, third] = requests();
    expect(first).toMatchObject({
      modelId: MODEL,
      system: [{ text: expect.stringContaining('shop') }],
      inferenceConfig: { temperature: 0.2, maxTokens: 1000 },
      messages: [{ role: 'user', content: [{ text: example.message }] }],
    });
    expect(first?.toolConfig?.tools?.map((tool) => tool.toolSpec)).toMatchObject([
      {
        name: 'count_customers',
        inputSchema: {
          json: { type: 'object', properties: { city: { enum: ['Lisbon', 'Hamburg'] } }, required: ['city'] },
        },
      },
      { name: 'mail_customers', inputSchema: { json: { required: ['city', 'subject', 'text'] } } },
    ]);
    const counted = {
      toolUseId: 'tool-1',
      content: [{ text: '{"city":"Lisbon","customers":214}' }],
      status: 'success',
    };
    expect(second?.messages?.slice(1)).toEqual([
      { role: 'assistant', content: [{ text: 'I count.' }, { toolUse: count }] },
      { role: 'user', content: [{ toolResult: counted }] },
    ]);
    const refused = { toolUseId: 'tool-2', content: [{ text: 'Not approved: We are open.' }], status: 'error' };
    expect(third?.messages?.slice(3)).toEqual([
      { role: 'assistant', content: [{ toolUse: mail }] },
      { role: 'user', content: [{ toolResult: refused }] },
    ]);
    expect(await outbox.entries()).toEqual([]);
  });

  it('names its model in the state, in approvals and with each reply', async () => {
    bedrock.on(ConverseStreamCommand).callsFake(async () => reply('tool_use', { toolUse: mail }));
    const run = await testAgents(assistant).start(example);
    const name = `${MODEL} on Amazon Bedrock`;
    expect(await run.approvals()).toMatchObject([{ show: { 'written by': name } }]);
    const checkpoints = await run.checkpoints();
    expect(checkpoints.at(-1)?.state).toMatchObject({ model: name });
    expect(checkpoints.find(({ model }) => model)?.model).toEqual({
      ...{ id: MODEL, region: 'eu-central-1', temperature: 0.2, maxTokens: 1000 },
    });
  });

  it('returns the results of all calls of one message together', async () => {
    const other = { ...count, toolUseId: 'tool-3', input: { city: 'Hamburg' } };
    bedrock
      .on(ConverseStreamCommand)
      .resolvesOnce(reply('tool_use', { toolUse: count }, { toolUse: other }))
      .resolvesOnce(reply('end_turn', { text: 'Done.' }));
    await testAgents(assistant).start(example);
    const results = requests()[1]?.messages?.at(-1);
    expect(results?.role).toBe('user');
    expect(results?.content?.map((block) => block.toolResult?.toolUseId)).toEqual(['tool-1', 'tool-3']);
  });

  it('retries when the service is busy, but not when access is denied', async () => {
    const failure = (name: string) => Object.assign(new Error('no'), { name });
    bedrock
      .on(ConverseStreamCommand)
      .rejectsOnce(failure('ThrottlingException'))
      .rejectsOnce(failure('AccessDeniedException'));
    const run = await testAgents(assistant).start(example);
    await expect(run.result()).rejects.toSatisfy(
      (error) => isWaitstateError(error, 'RUN_FAILED') && /AccessDeniedException: no/.test(String(error.cause)),
    );
    expect(requests()).toHaveLength(2);
  });

  it('fails when the model stops before its answer is complete', async () => {
    bedrock.on(ConverseStreamCommand).callsFake(async () => reply('max_tokens', { text: 'Dear customers, we' }));
    const run = await testAgents(assistant).start(example);
    await expect(run.result()).rejects.toThrow(/it stopped with max_tokens/);
  });

  it('is used only if a region is set too', async () => {
    vi.stubEnv('AWS_REGION', '');
    const run = await testAgents(assistant).start(example);
    expect(requests()).toEqual([]);
    expect((await run.checkpoints()).at(-1)?.state).toMatchObject({ model: expect.stringMatching(/^a script/) });
  });
});
