import type { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import type { SNSClient } from '@aws-sdk/client-sns';
import { WaitstateError } from '../core/errors.ts';
import { importOptionalPeer } from '../storage/aws/import-optional-peer.ts';

/** What is said to everybody who listens: never a state, a link or a token. */
export interface PublishedEvent {
  /** `Approval Requested`, `Run Succeeded`, … */
  readonly type: string;
  readonly detail: Readonly<Record<string, unknown>>;
  /** A line for people, on the topic. @default it goes to the bus only */
  readonly text?: { readonly subject: string; readonly message: string };
}

/** Says something; throws when it did not arrive. */
export type PublishEvent = (announcement: PublishedEvent) => Promise<void>;

export interface PublishOptions {
  readonly bus?: string | undefined;
  readonly topic?: string | undefined;
  /** @default made when first needed */
  readonly events?: Pick<EventBridgeClient, 'send'>;
  readonly sns?: Pick<SNSClient, 'send'>;
}

/** Announcements on an EventBridge bus and an SNS topic, those of the two that there are; undefined without either. */
export function publishEvents({ bus, topic, events, sns }: PublishOptions): PublishEvent | undefined {
  if (bus === undefined && topic === undefined) return undefined;
  let bridge = events;
  let notifications = sns;

  const toBus = async (EventBusName: string, { type, detail }: PublishedEvent): Promise<void> => {
    const sdk = await importOptionalPeer('@aws-sdk/client-eventbridge', () => import('@aws-sdk/client-eventbridge'));
    bridge ??= new sdk.EventBridgeClient({});
    const entry = { EventBusName, Source: 'waitstate', DetailType: type, Detail: JSON.stringify(detail) };
    const { FailedEntryCount, Entries } = await bridge.send(new sdk.PutEventsCommand({ Entries: [entry] }));
    if (!FailedEntryCount) return;
    const why = Entries?.[0]?.ErrorCode ?? 'no reason given';
    throw new WaitstateError('STORAGE_UNAVAILABLE', `EventBridge bus "${EventBusName}" did not take an event: ${why}.`);
  };

  const toTopic = async (TopicArn: string, { detail, text }: PublishedEvent): Promise<void> => {
    if (!text) return;
    const sdk = await importOptionalPeer('@aws-sdk/client-sns', () => import('@aws-sdk/client-sns'));
    notifications ??= new sdk.SNSClient({});
    const ofAgent = typeof detail.agent === 'string' && { agent: { DataType: 'String', StringValue: detail.agent } };
    await notifications.send(
      new sdk.PublishCommand({
        ...{ TopicArn, Subject: subjectOf(text.subject), Message: text.message },
        ...(ofAgent && { MessageAttributes: ofAgent }),
      }),
    );
  };

  return async (announcement) => {
    await Promise.all([
      bus !== undefined && toBus(bus, announcement),
      topic !== undefined && toTopic(topic, announcement),
    ]);
  };
}

/** SNS takes at most 100 printable ASCII characters. https://docs.aws.amazon.com/sns/latest/api/API_Publish.html */
const subjectOf = (text: string): string =>
  text
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, 100) || 'Waitstate';
