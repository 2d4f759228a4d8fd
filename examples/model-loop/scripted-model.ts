import { setTimeout as pause } from 'node:timers/promises';
import { latency, simulateLatency } from '../simulated/latency.ts';
import type { Message } from './message.ts';
import type { Model } from './model.ts';
import { CITIES } from './tools.ts';

/** Follows a script, for when no model is configured. */
export const scriptedModel: Model = {
  name: 'a script. No model is called; set AWS_REGION and WAITSTATE_MODEL to use one on Amazon Bedrock',
  parameters: { id: 'scripted' },
  async reply({ messages }, onText) {
    await simulateLatency();
    const next = nextMessage(messages);
    for (const word of next.text.split(/(?<= )/)) {
      onText(word);
      await pause(latency.milliseconds / 5);
    }
    return { role: 'assistant', ...next };
  },
};

/** Counts the customers, then writes the mail, then reports the outcome. */
function nextMessage(messages: readonly Message[]): Omit<Message, 'role'> {
  const id = `call-${messages.length}`;
  const last = messages.at(-1);
  const said = messages.findLast(({ role }) => role === 'user')?.text ?? '';
  const city = CITIES.find((each) => said.includes(each));
  if (!city) return { text: `I only follow a script. Tell me what customers in ${CITIES.join(' or ')} should know.` };
  if (last?.role !== 'tool')
    return { text: 'First I count the customers there.', calls: [{ id, name: 'count_customers', input: { city } }] };
  if (last.name === 'mail_customers')
    return { text: last.isError ? `Nothing was sent. ${last.text}` : 'The mail is sent.' };
  const news = said.split(' that ').at(-1);
  const text = `Dear customers in ${city},\n\nplease note: ${news}\n\nYour shop`;
  const input = { city, subject: 'News from your shop', text };
  return { text: 'I wrote them a mail.', calls: [{ id, name: 'mail_customers', input }] };
}
