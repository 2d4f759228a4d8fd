// An agent that uses only the protocol of docs/guides/other-languages.md, without the library.
import { randomBytes } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';

const functions = new LambdaClient({});

export async function handler(given) {
  if (given.notify) return note('mail', given.notify);
  const event = given.contentUrl ? { ...given, ...(await (await fetch(given.contentUrl)).json()) } : given;
  const { checkpoint, input, approvals } = event;
  const { state = {} } = checkpoint;
  let { version } = checkpoint;

  if (!state?.quote) {
    // Too large for a record, even compressed.
    const offer = { quote: 12, sheet: randomBytes(15_000).toString('base64') };
    const saved = await waitstate(event, { action: 'save', expectedVersion: version, step: 'quote', state: offer });
    version = saved.version;
  }
  const decision = approvals.find(({ name }) => name === 'buy');
  if (!decision) {
    const approval = { name: 'buy', title: `Buy ${input.item.slice(0, 10)}?`, approvers: ['user:ann'] };
    return waitstate(event, { action: 'requestApproval', expectedVersion: version, approval });
  }
  note('bought', event.run);
  const result = { bought: decision.approved, letters: input.item.length };
  return waitstate(event, { action: 'finish', expectedVersion: version, status: 'SUCCEEDED', result });
}

async function waitstate({ tenant, run }, fields) {
  const request = { waitstate: 1, tenant, run, ...fields };
  const FunctionName = process.env.WAITSTATE_CHECKPOINT_FUNCTION;
  const { Payload } = await functions.send(new InvokeCommand({ FunctionName, Payload: JSON.stringify(request) }));
  const answer = JSON.parse(Buffer.from(Payload).toString());
  if (!answer.ok) throw Object.assign(new Error(answer.error.message), { code: answer.error.code });
  return answer;
}

function note(what, line) {
  appendFileSync(join(tmpdir(), `${what}.jsonl`), `${JSON.stringify(line)}\n`);
}
