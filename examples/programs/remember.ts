// A conversation that continues across processes. Pass a folder and a message, as often as you like:
//   node examples/programs/remember.ts --folder /tmp/chat "My name is Kim."
//   node examples/programs/remember.ts --folder /tmp/chat "What did I say first?"
// Without arguments it starts two processes, one after the other, on a temporary folder.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { checkpointStore } from '../../lambda/embedded.ts'; // users write: 'waitstate/embedded'

interface Conversation {
  messages: { role: 'user' | 'assistant'; text: string }[];
}

async function answer(folder: string, text: string): Promise<void> {
  const store = checkpointStore<Conversation>({ folder });
  const { version, state } = await store.update(
    'chat',
    (draft) => {
      draft.messages.push({ role: 'user', text });
      draft.messages.push({ role: 'assistant', text: reply(draft) });
    },
    { step: 'answer', initial: { messages: [] } },
  );
  console.log(`version ${version}  ${text}  →  ${state.messages.at(-1)?.text}`);
  await store.close();
}

/** A simulated model. */
function reply({ messages }: Conversation): string {
  return messages.length === 1 ? 'Good to know.' : `You first said: "${messages[0]?.text}"`;
}

const { values, positionals } = parseArgs({ options: { folder: { type: 'string' } }, allowPositionals: true });
if (values.folder && positionals[0]) {
  await answer(values.folder, positionals[0]);
} else {
  const folder = mkdtempSync(join(tmpdir(), 'waitstate-remember-'));
  for (const text of ['I take the train.', 'What did I say?']) {
    const args = [fileURLToPath(import.meta.url), '--folder', folder, text];
    execFileSync(process.execPath, args, { stdio: 'inherit' });
  }
  rmSync(folder, { recursive: true });
}
