import { afterEach, describe, expect, it, vi } from 'vitest';
import { testAgents } from 'waitstate/testing';
import { assistant } from '../../examples/model-loop/agent.ts';
import type { Message } from '../../examples/model-loop/message.ts';
import { scriptedModel } from '../../examples/model-loop/scripted-model.ts';
import { outbox } from '../../examples/simulated/mail.ts';
import { exampleOf, freshServices } from './simulated.ts';

const example = exampleOf(assistant);

const SCRIPTED = /^a script. No model is called/;

const sent = async () => (await outbox.entries()).map(({ to, subject, text }) => `To ${to}: ${subject}\n${text}`);

interface Chat {
  readonly model: string;
  readonly system: string;
  readonly messages: readonly Message[];
}

freshServices();
afterEach(() => vi.restoreAllMocks());

/** The model loop, with its log and its model. */
function world() {
  const log: string[] = [];
  const reply = vi.spyOn(scriptedModel, 'reply');
  const made = testAgents(assistant, { log: (_, message) => void log.push(message) });
  const chat = async (run: Awaited<ReturnType<typeof made.start>>) => (await run.checkpoints()).at(-1)?.state as Chat;
  return { ...made, chat, log, reply };
}

describe('the model loop', () => {
  it('requests an approval before it sends mail, and ends with the answer of the model', async () => {
    const { start, skip, chat } = world();
    const run = await start(example);
    expect(await run.approvals()).toMatchObject([
      {
        title: 'Send “News from your shop” to 214 customers in Lisbon?',
        facts: {
          city: 'Lisbon',
          subject: 'News from your shop',
          text: expect.stringContaining('please note: the shop is closed on Friday.'),
        },
        editable: true,
      },
    ]);
    expect(await sent()).toEqual([]);
    await run.approve('allow mail_customers');
    expect(await sent()).toEqual([expect.stringMatching(/^To customers in Lisbon: News from your shop\n/)]);
    expect(await run.status()).toBe('WAITING_FOR_SIGNAL');
    await skip({ minutes: 5 });
    expect(await run.result()).toEqual({ answer: 'The mail is sent.' });
    expect((await chat(run)).messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'assistant',
    ]);
  });

  it('says in the state, the log, approvals and each reply that its model is a script', async () => {
    const { start, chat, log } = world();
    const run = await start(example);
    expect((await chat(run)).model).toMatch(SCRIPTED);
    expect(log).toContainEqual(expect.stringMatching(/^The model is a script. No model is called/));
    expect(await run.approvals()).toMatchObject([{ show: { 'written by': expect.stringMatching(SCRIPTED) } }]);
    const answers = (await run.checkpoints()).filter(({ step }) => step?.endsWith('/ask model'));
    expect(answers.map(({ model }) => model)).toEqual([{ id: 'scripted' }, { id: 'scripted' }]);
  });

  it('sends nothing when the approver rejects, and gives the model the reason', async () => {
    const { start, skip, chat } = world();
    const run = await start(example);
    await run.reject('allow mail_customers', { comment: 'We are open.' });
    await skip({ minutes: 5 });
    expect(await run.result()).toEqual({ answer: 'Nothing was sent. Not approved: We are open.' });
    expect((await chat(run)).messages.at(-2)).toMatchObject({ role: 'tool', isError: true });
    expect(await sent()).toEqual([]);
  });

  it('sends nothing when no approver decides within a day', async () => {
    const { start, skip } = world();
    const run = await start(example);
    await run.expire('allow mail_customers');
    await skip({ minutes: 5 });
    expect(await run.result()).toEqual({ answer: 'Nothing was sent. Not approved: EXPIRED' });
    expect(await sent()).toEqual([]);
  });

  it('sends the mail that the approver edited, and refuses invalid edits', async () => {
    const { start, chat } = world();
    const run = await start(example);
    await expect(run.approve('allow mail_customers', { edits: { text: '', to: 'everybody' } })).rejects.toThrow(
      '/text: This field is required. /to: This field is unknown. Remove it.',
    );
    await run.approve('allow mail_customers', { edits: { text: 'Closed on Friday.' } });
    expect(await sent()).toEqual(['To customers in Lisbon: News from your shop\nClosed on Friday.']);
    expect((await chat(run)).messages.at(-2)?.text).toContain('"text":"Closed on Friday."');
  });

  it('resumes from its last state: no recorded model call is repeated, and no mail is sent twice', async () => {
    const { start, crash, reply, invocations } = world();
    for (const moment of ['before', 'recorded']) crash({ [moment]: 'ask model' });
    for (const moment of ['before', 'after', 'recorded']) crash({ [moment]: 'mail_customers' });
    const run = await start(example);
    expect(reply).toHaveBeenCalledTimes(2);
    await run.approve('allow mail_customers');
    expect(reply).toHaveBeenCalledTimes(3);
    expect(await sent()).toHaveLength(1);
    expect(invocations.filter(({ end }) => end === 'failed')).toHaveLength(5);
    await run.signal('message', 'And those in Hamburg?');
    expect(reply.mock.lastCall?.[0].messages).toHaveLength(9);
    expect(reply).toHaveBeenCalledTimes(5);
    expect(await run.approvals()).toMatchObject([{ title: expect.stringContaining('1031 customers in Hamburg') }]);
  });

  it('continues the conversation when a signal arrives', async () => {
    const { start, skip } = world();
    const run = await start({ message: 'Hello' });
    expect(await run.status()).toBe('WAITING_FOR_SIGNAL');
    await run.signal('message', 'Good bye');
    await skip({ minutes: 5 });
    expect(await run.result()).toEqual({
      answer: expect.stringMatching(/^I only follow a script. .*Lisbon or Hamburg/),
    });
  });

  it('ends when the user says bye, and keeps that message in the conversation', async () => {
    const { start, chat, reply } = world();
    const run = await start({ message: 'Hello' });
    await run.signal('message', 'Bye, thank you');
    expect(await run.result()).toEqual({ answer: expect.stringMatching(/^I only follow a script/) });
    expect(reply).toHaveBeenCalledTimes(1);
    expect((await chat(run)).messages.map(({ role, text }) => [role, text])).toEqual([
      ['user', 'Hello'],
      ['assistant', expect.any(String)],
      ['user', 'Bye, thank you'],
    ]);
  });

  it('returns invalid tool calls to the model as errors', async () => {
    const { start, chat, reply } = world();
    const calls = [
      { id: 'a', name: 'constructor', input: {} },
      { id: 'b', name: 'count_customers', input: { city: 'Atlantis' } },
    ];
    reply.mockResolvedValueOnce({ role: 'assistant', text: '', calls });
    reply.mockResolvedValueOnce({ role: 'assistant', text: 'I see.' });
    expect((await chat(await start(example))).messages.slice(2, 4)).toEqual([
      { role: 'tool', name: 'constructor', answers: 'a', text: 'There is no tool "constructor".', isError: true },
      {
        role: 'tool',
        name: 'count_customers',
        answers: 'b',
        text: expect.stringMatching(/Lisbon.*Hamburg.*city/s),
        isError: true,
      },
    ]);
  });

  it('fails when the model finds no answer', async () => {
    const { start, reply } = world();
    const count = { name: 'count_customers', input: { city: 'Lisbon' } };
    reply.mockImplementation(async ({ messages }) => ({
      ...{ role: 'assistant', text: 'Once more.', calls: [{ ...count, id: `call-${messages.length}` }] },
    }));
    const run = await start(example);
    await expect(run.result()).rejects.toThrow(/an answer of the model within 20 messages/);
    expect(reply).toHaveBeenCalledTimes(10);
  });

  it('can be forked with another prompt at the first message', async () => {
    const { start, reply } = world();
    const run = await start(example);
    const { version } = (await run.checkpoints()).find(({ state }) => state !== undefined) ?? {};
    const callCount = reply.mock.calls.length;
    const fork = await run.fork({
      ...(version && { version }),
      edit: (chat) => ({ ...(chat as Chat), system: 'Rhyme.' }),
    });
    expect(await fork.status()).toBe('WAITING_FOR_APPROVAL');
    expect(reply.mock.calls.slice(callCount).map(([{ system, messages }]) => [system, messages.length])).toEqual([
      ['Rhyme.', 1],
      ['Rhyme.', 3],
    ]);
  });
});
