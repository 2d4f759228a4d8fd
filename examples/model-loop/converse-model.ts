// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
import type * as Bedrock from '@aws-sdk/client-bedrock-runtime';
import { FatalError } from 'waitstate';
import { z } from 'zod';
import type { Conversation, Message } from './message.ts';
import type { Model } from './model.ts';
import { TOOLS } from './tools.ts';

const INFERENCE = { temperature: 0.2, maxTokens: 1000 };

/** A model on Amazon Bedrock, called through the Converse API, which streams its answer. */
export const converseModel = (id: string, region: string): Model => ({
  name: `${id} on Amazon Bedrock`,
  parameters: { id, region, ...INFERENCE },
  async reply(conversation, onText) {
    // Loaded on first use, so that a cold start without a model stays fast.
    const { BedrockRuntimeClient, ConverseStreamCommand } = await import('@aws-sdk/client-bedrock-runtime');
    const client = new BedrockRuntimeClient({ region });
    try {
      const { stream } = await client.send(new ConverseStreamCommand(requestOf(id, conversation)));
      return await readMessage(stream ?? [], onText);
    } catch (error) {
      // A client error does not go away with a retry.
      if (error instanceof Error && REFUSALS.has(error.name))
        throw new FatalError(`${error.name}: ${error.message}`, { cause: error });
      throw error;
    } finally {
      client.destroy();
    }
  },
});

const REFUSALS = new Set(['AccessDeniedException', 'ResourceNotFoundException', 'ValidationException']);

function requestOf(modelId: string, { system, messages }: Conversation): Bedrock.ConverseStreamCommandInput {
  return {
    modelId,
    system: [{ text: system }],
    messages: blocksOf(messages),
    inferenceConfig: INFERENCE,
    toolConfig: {
      tools: [...TOOLS].map(([name, { description, input }]) => ({
        toolSpec: { name, description, inputSchema: { json: z.toJSONSchema(input) as Document } },
      })),
    },
  };
}

type Document = NonNullable<Bedrock.ToolUseBlock['input']>;

/** The API expects tool results as messages of the user, with all results for one message together. */
function blocksOf(messages: readonly Message[]): Bedrock.Message[] {
  const blocks: { role: Bedrock.ConversationRole; content: Bedrock.ContentBlock[] }[] = [];
  for (const message of messages) {
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const last = blocks.at(-1);
    if (last?.role === role) last.content.push(...contentOf(message));
    else blocks.push({ role, content: contentOf(message) });
  }
  return blocks;
}

function contentOf({ role, text, calls = [], answers, isError }: Message): Bedrock.ContentBlock[] {
  if (role === 'tool')
    return [{ toolResult: { toolUseId: answers, content: [{ text }], status: isError ? 'error' : 'success' } }];
  return [
    // The API rejects empty texts.
    ...(text === '' ? [] : [{ text }]),
    ...calls.map(({ id, name, input }) => ({ toolUse: { toolUseId: id, name, input: input as Document } })),
  ];
}

/** Reads the blocks of an answer: texts, and tool calls whose input arrives as pieces of JSON. */
async function readMessage(
  stream: AsyncIterable<Bedrock.ConverseStreamOutput> | readonly Bedrock.ConverseStreamOutput[],
  onText: (text: string) => void,
): Promise<Message> {
  const texts: string[] = [];
  const calls: { id: string; name: string; json: string }[] = [];
  let stopReason: string | undefined;
  for await (const { contentBlockStart, contentBlockDelta, messageStop } of stream) {
    const { toolUse } = contentBlockStart?.start ?? {};
    if (toolUse) calls.push({ id: String(toolUse.toolUseId), name: String(toolUse.name), json: '' });
    const { text, toolUse: input } = contentBlockDelta?.delta ?? {};
    const index = contentBlockDelta?.contentBlockIndex ?? 0;
    if (text !== undefined) {
      texts[index] = (texts[index] ?? '') + text;
      onText(text);
    }
    const call = calls.at(-1);
    if (input && call) call.json += input.input ?? '';
    stopReason ??= messageStop?.stopReason;
  }
  if (stopReason !== 'end_turn' && stopReason !== 'tool_use' && stopReason !== 'stop_sequence')
    throw new FatalError(`Expected a complete answer of the model; it stopped with ${stopReason}.`);
  return {
    role: 'assistant',
    text: texts.filter((text) => text !== undefined).join('\n'),
    ...(calls.length > 0 && {
      calls: calls.map(({ id, name, json }) => ({ id, name, input: JSON.parse(json || '{}') })),
    }),
  };
}
