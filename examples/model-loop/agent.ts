// A model in a loop, with tools. Each turn ends in a checkpoint, so that a resume begins at the last message and no answer
// is paid for twice. Before it does what cannot be taken back, a person is asked. The mail is simulated.
import { agent, type TurnContext } from 'waitstate';
import { prettifyError } from 'zod';
import type { Message, ToolCall } from './message.ts';
import { modelFromEnvironment } from './model.ts';
import { TOOLS } from './tools.ts';

interface Chat {
  /** Who answers. */
  readonly model: string;
  /** To try another prompt, fork the run with this changed. */
  readonly system: string;
  readonly messages: readonly Message[];
}

const SYSTEM = 'You help a shop write to its customers. Count them first, write short mails, and say what was done.';
const MOST_MESSAGES = 20;

export const assistant = agent({
  name: 'model-loop',
  state: {
    initial: ({ message }: { message: string }): Chat => ({
      model: modelFromEnvironment().name,
      system: SYSTEM,
      messages: [{ role: 'user', text: message }],
    }),
  },

  // What is next follows from the last message: to go on, nothing is needed but the state.
  async turn(ctx, state) {
    const { messages } = state;
    const since = messages.length - messages.findLastIndex(({ role }) => role === 'user');
    if (since > MOST_MESSAGES) throw new Error(`The model found no answer in ${MOST_MESSAGES} messages.`);
    const and = (...more: readonly Message[]): Chat => ({ ...state, messages: [...messages, ...more] });
    const last = messages.at(-1);
    if (last?.role !== 'assistant') {
      const model = modelFromEnvironment();
      ctx.log(`The model is ${model.name}.`);
      const answer = await ctx.step('ask model', () => model.reply(state), { model: model.parameters });
      return { ...and(answer), model: model.name };
    }
    if (last.calls) {
      const results: Message[] = [];
      for (const call of last.calls) results.push(await resultOf(ctx, call));
      return and(...results);
    }
    // The model has said what it had to say. Nothing runs until somebody answers, or five minutes are over.
    const said = await ctx.waitForSignal('message', { timeout: { minutes: 5 } });
    if (said === undefined) return ctx.done({ answer: last.text });
    return and({ role: 'user', text: typeof said === 'string' ? said : JSON.stringify(said) });
  },
});

/** Calls a tool. What goes wrong with it is for the model to know: it may find another way. */
async function resultOf(ctx: TurnContext<Chat>, { id, name, input }: ToolCall): Promise<Message> {
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
    const made = await ctx.tool(name, { ...args, ...decision?.edits }, tool.run, { callId: id });
    return result(JSON.stringify(made));
  } catch (thrown) {
    return failure(String(thrown));
  }
}

/** The Lambda function. */
export const handler = assistant.handler();

export const description = 'A model with tools, which asks a person before it sends mail to customers.';

export const example = { message: 'Tell our customers in Lisbon that the shop is closed on Friday.' };
