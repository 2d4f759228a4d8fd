import type { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import type { SNSClient } from '@aws-sdk/client-sns';
import { WaitstateError } from '../core/errors.ts';
import { importOptionalPeer } from '../storage/aws/import-optional-peer.ts';

/** An event for all subscribers. It never contains a state, an approval link or a token. */
export interface PublishedEvent {
  /** `Approval Requested`, `Run Succeeded`, … */
  readonly type: string;
  readonly detail: Readonly<Record<string, unknown>>;
  /** The message for the topic. @default the event goes only to the bus */
  readonly text?: { readonly subject: string; readonly message: string };
}

/** Publishes an event; throws if it was not accepted. */
export type PublishEvent = (event: PublishedEvent) => Promise<void>;

export interface PublishOptions {
  readonly bus?: string | undefined;
  readonly topic?: string | undefined;
  /** @default created at the first event */
  readonly events?: Pick<EventBridgeClient, 'send'>;
  readonly sns?: Pick<SNSClient, 'send'>;
}

/** Publishes events to an EventBridge bus and an SNS topic, as configured; undefined without either. */
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
    const code = Entries?.[0]?.ErrorCode ?? 'no error code';
    throw new WaitstateError(
      PERMANENT_ERRORS.has(code) ? 'INVALID_INPUT' : 'STORAGE_UNAVAILABLE',
      `EventBridge bus "${EventBusName}" rejected an event: ${code}.`,
    );
  };

  const toTopic = async (TopicArn: string, { detail, text }: PublishedEvent): Promise<void> => {
    if (!text) return;
    const sdk = await importOptionalPeer('@aws-sdk/client-sns', () => import('@aws-sdk/client-sns'));
    notifications ??= new sdk.SNSClient({});
    const attributes = typeof detail.agent === 'string' && { agent: { DataType: 'String', StringValue: detail.agent } };
    await notifications.send(
      new sdk.PublishCommand({
        TopicArn,
        Subject: toSubject(text.subject),
        Message: text.message,
        ...(attributes && { MessageAttributes: attributes }),
      }),
    );
  };

  return async (event) => {
    await Promise.all([bus !== undefined && toBus(bus, event), topic !== undefined && toTopic(topic, event)]);
  };
}

/** The rejections of an event that no retry changes; all others may be temporary. */
const PERMANENT_ERRORS: ReadonlySet<string> = new Set(['InvalidArgument', 'MalformedDetail']);

/** SNS accepts at most 100 printable ASCII characters. https://docs.aws.amazon.com/sns/latest/api/API_Publish.html */
const toSubject = (text: string): string =>
  text
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, 100) || 'Waitstate';
