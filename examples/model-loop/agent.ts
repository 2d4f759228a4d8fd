// A model in a loop, with tools. Each turn ends in a checkpoint, so the run resumes at the last message and no model call
// is paid for twice. Tools that cannot be undone need an approval. The mail is simulated.
import { agent, type TurnContext } from 'waitstate';
import { prettifyError } from 'zod';
import type { Message, ToolCall } from './message.ts';
import { modelFromEnvironment } from './model.ts';
import { TOOLS } from './tools.ts';

interface Chat {
  /** The model that wrote the last reply. */
  readonly model: string;
  /** The system prompt. To try another one, fork the run with a changed state. */
  readonly system: string;
  readonly messages: readonly Message[];
}

const SYSTEM = 'You help a shop write to its customers. Count them first, write short mails, and say what was done.';
const MAX_MESSAGES = 20;

export const assistant = agent({
  name: 'model-loop',
  description: 'A model with tools that needs an approval before it sends mail to customers.',
  example: { message: 'Tell our customers in Lisbon that the shop is closed on Friday.' },
  state: {
    initial: ({ message }: { message: string }): Chat => ({
      model: modelFromEnvironment().name,
      system: SYSTEM,
      messages: [{ role: 'user', text: message }],
    }),
  },

  // The last message decides what happens next, so the state is all that a resume needs.
  async turn(ctx, state) {
    const { messages } = state;
    const since = messages.length - messages.findLastIndex(({ role }) => role === 'user');
    if (since > MAX_MESSAGES)
      throw new Error(`Expected an answer of the model within ${MAX_MESSAGES} messages; it still calls tools.`);
    const withMessages = (...more: readonly Message[]): Chat => ({ ...state, messages: [...messages, ...more] });
    const last = messages.at(-1);
    if (last?.role !== 'assistant') {
      const model = modelFromEnvironment();
      ctx.log(`The model is ${model.name}.`);
      // The console shows the answer while the model writes it.
      const answer = await ctx.step('ask model', ({ stream }) => model.reply(state, stream), {
        model: model.parameters,
      });
      return { ...withMessages(answer), model: model.name };
    }
    if (last.calls) {
      const results: Message[] = [];
      for (const call of last.calls) results.push(await callTool(ctx, call));
      return withMessages(...results);
    }
    // The model has answered. The run suspends until the user replies or five minutes have passed.
    const reply = await ctx.waitForSignal('message', { timeout: { minutes: 5 } });
    const result = { answer: last.text };
    if (reply === undefined) return ctx.done(result);
    const text = typeof reply === 'string' ? reply : JSON.stringify(reply);
    const next = withMessages({ role: 'user', text });
    // The last state has the user's last message, so the conversation is complete in the console and in exports.
    return /^bye\b/i.test(text) ? ctx.done(result, next) : next;
  },
});

/** Calls a tool. Errors go to the model as results, so that it can try something else. */
async function callTool(ctx: TurnContext<Chat>, { id, name, input }: ToolCall): Promise<Message> {
  const result = (text: string): Message => ({ role: 'tool', name, answers: id, text });
  const failure = (text: string): Message => ({ ...result(text), isError: true });
  const tool = TOOLS.get(name);
  if (!tool) return failure(`There is no tool "${name}".`);
  const { data: args, error } = tool.input.safeParse(input);
  if (error) return failure(prettifyError(error));

  const decision =
    tool.approvalTitle &&
    (await ctx.approval(`allow ${name}`, {
      title: tool.approvalTitle(args),
      show: { 'written by': ctx.state.model },
      facts: args,
      editable: tool.input.partial(),
      approvers: ['user:ann'],
      timeout: { days: 1 },
    }));
  if (decision?.approved === false) return failure(`Not approved: ${decision.comment ?? decision.status}`);

  try {
    const output = await ctx.tool(name, { ...args, ...decision?.edits }, tool.run, { callId: id });
    return result(JSON.stringify(output));
  } catch (thrown) {
    return failure(String(thrown));
  }
}

/** The Lambda function. */
export const handler = assistant.handler();
