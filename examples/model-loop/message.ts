/** A message of the conversation, as the state keeps it and the console shows it. */
export interface Message {
  readonly role: 'user' | 'assistant' | 'tool';
  readonly text: string;
  /** What the model wants done; in messages of the assistant. */
  readonly calls?: readonly ToolCall[];
  /** Of a tool: its name, which call this answers, and whether it failed. */
  readonly name?: string;
  readonly answers?: string;
  readonly isError?: boolean;
}

/** A call of a tool, with the model's own id of it. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

/** What a model is given. */
export interface Conversation {
  readonly system: string;
  readonly messages: readonly Message[];
}
