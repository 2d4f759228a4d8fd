/** The run id in every system, as long as ids are in practice, because its length is part of the billed size. */
export const RUN = '0197a3c4-8f1e-7cc2-9d4e-0b6a53c1f2aa';

/** A workload: steps on a state that the bench runs on each system. */
export interface Work {
  readonly name: string;
  readonly description: string;
  /** How many groups of text each of the two messages of a turn has, if a step is a turn of a conversation. */
  readonly groups?: number;
  initialState(): Conversation;
  /** Prepares step n and returns a function that applies it to a state in place; it is the same for every system. */
  step(step: number): (state: Conversation) => void;
}

export interface Message {
  role: string;
  content: string;
}

export interface Conversation {
  messages: Message[];
}

/** A deterministic random number generator (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const BASE_36 = '0123456789abcdefghijklmnopqrstuvwxyz';

/** Groups of 8 random base-36 characters, separated by spaces: text that hardly compresses. */
export function freshText(seed: number, groups = 66): string {
  const random = seeded(seed);
  let text = '';
  for (let at = 0; at < groups * 9 - 1; at++) text += at % 9 === 8 ? ' ' : BASE_36[Math.floor(random() * 36)];
  return text;
}

/** The two messages that turn n adds. */
export const turnMessages = (step: number, groups = 66): readonly [user: Message, assistant: Message] => [
  { role: 'user', content: freshText(step * 2, groups) },
  { role: 'assistant', content: freshText(step * 2 + 1, groups) },
];

const addTurn = (groups: number) => (step: number) => {
  const messages = turnMessages(step, groups);
  return (state: Conversation) => void state.messages.push(...messages);
};

/** The conversation of PEERS.md: 1.2 KB of fresh text a turn. */
export const CONVERSATION: Work = {
  name: 'conversation',
  description: 'each turn adds a user and an assistant message of 593 random characters (1.2 KB)',
  initialState: () => ({ messages: [] }),
  groups: 66,
  step: addTurn(66),
};

/** The same with long messages: 20 KB a turn. */
export const LONG_TURNS: Work = {
  name: '20 KB a turn',
  description: 'each turn adds a user and an assistant message of 10 KB of random characters',
  initialState: () => ({ messages: [] }),
  groups: 1111,
  step: addTurn(1111),
};

const PARTS = 200;

/** A state of 200 KB in which each step rewrites 1 KB at a random position. */
export const EDITS: Work = {
  name: 'edits in place',
  description: 'a state of 200 KB (200 parts of 1 KB); each step rewrites one part of it, at random',
  initialState: () => ({
    messages: Array.from({ length: PARTS }, (_, at) => ({ role: 'part', content: freshText(1e6 + at, 114) })),
  }),
  step(step) {
    const at = Math.floor(seeded(step)() * PARTS);
    const part = { role: 'part', content: freshText(2e6 + step, 114) };
    return (state) => {
      state.messages[at] = part;
    };
  },
};
