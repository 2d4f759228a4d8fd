import type { ModelParameters } from 'waitstate';
import { converseModel } from './converse-model.ts';
import type { Conversation, Message } from './message.ts';
import { scriptedModel } from './scripted-model.ts';

/** A model that replies in a conversation. */
export interface Model {
  /** Its name in the state, in the log and in approvals. */
  readonly name: string;
  /** The parameters that are recorded with each reply. */
  readonly parameters: ModelParameters;
  /** Replies, and calls `onText` with each part of the text as the model writes it. */
  reply(conversation: Conversation, onText: (text: string) => void): Promise<Message>;
}

/** The model on Amazon Bedrock that the environment names, with a region; otherwise a script. */
export function modelFromEnvironment(): Model {
  const { AWS_REGION: region, WAITSTATE_MODEL: id } = process.env;
  return id && region ? converseModel(id, region) : scriptedModel;
}
