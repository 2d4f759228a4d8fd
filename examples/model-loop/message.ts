/** A message of the conversation, in the form that the console shows. */
export interface Message {
  readonly role: 'user' | 'assistant' | 'tool';
  readonly text: string;
  /** The tool calls that the model requests; only in messages of the assistant. */
  readonly calls?: readonly ToolCall[];
  /** Only in messages of a tool: its name, the id of the call, and whether it failed. */
  readonly name?: string;
  readonly answers?: string;
  readonly isError?: boolean;
}

/** A tool call, with the id that the model gave it. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

/** The input of a model. */
export interface Conversation {
  readonly system: string;
  readonly messages: readonly Message[];
}
