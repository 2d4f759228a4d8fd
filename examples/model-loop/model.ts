import type { ModelParameters } from 'waitstate';
import { converseModel } from './converse-model.ts';
import type { Conversation, Message } from './message.ts';
import { scriptedModel } from './scripted-model.ts';

/** What answers in the conversation. */
export interface Model {
  /** What people see of it, on the screen and in the log. */
  readonly name: string;
  /** What is kept of it with each answer. */
  readonly parameters: ModelParameters;
  reply(conversation: Conversation): Promise<Message>;
}

/** A model on Amazon Bedrock where the environment names one and a region; a script otherwise. */
export function modelFromEnvironment(): Model {
  const { AWS_REGION: region, WAITSTATE_MODEL: id } = process.env;
  return id && region ? converseModel(id, region) : scriptedModel;
}
