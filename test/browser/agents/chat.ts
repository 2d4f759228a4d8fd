// A chat loop for the browser tests: each turn adds an answer, until there are two.
import { agent } from 'waitstate';

interface Message {
  readonly role: string;
  readonly content: string;
}

export const chat = agent({
  name: 'chat',
  state: { initial: (ask: string): { messages: Message[] } => ({ messages: [{ role: 'user', content: ask }] }) },
  async turn(ctx, { messages }) {
    const replies = messages.filter(({ role }) => role === 'assistant');
    if (replies.length === 2) return ctx.done(messages.map(({ content }) => content).join(' / '));
    const content = await ctx.step('answer', () => `You said: ${messages.at(-1)?.content}`);
    return { messages: [...messages, { role: 'assistant', content }] };
  },
});
