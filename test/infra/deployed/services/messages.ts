import { randomUUID } from 'node:crypto';
import { allOf, type Deployed } from '../resolve.ts';
import { inputOf, json, jsonError, operationOf, type Service, viaService } from './service.ts';

/** The messages sent to topics and the events sent to buses. */
export interface SentMessages {
  readonly messages: { readonly topic: string; readonly subject: string; readonly message: string }[];
  readonly events: {
    readonly bus: string;
    readonly type: string;
    readonly detail: Readonly<Record<string, unknown>>;
  }[];
  /** Whether the bus rejects all events. */
  isBusDown: boolean;
}

/** A fake SNS that records messages. `topics` maps ARNs to customer managed keys. */
export const sns = (sent: SentMessages, topics: ReadonlyMap<string, string | undefined>, region: string): Service => ({
  wanted({ body }) {
    const input = new URLSearchParams(body.toString());
    if (input.get('Action') !== 'Publish') throw new Error(`SNS ${input.get('Action')} is not implemented.`);
    const resource = input.get('TopicArn') ?? '';
    const key = topics.get(resource);
    const keyed = key === undefined ? [] : viaService(key, 'sns', region, 'GenerateDataKey', 'Decrypt');
    return [{ action: 'sns:Publish', resource }, ...keyed];
  },
  async respond({ body }) {
    const input = new URLSearchParams(body.toString());
    const [topic = '', subject = '', message = ''] = ['TopicArn', 'Subject', 'Message'].map(
      (name) => input.get(name) ?? '',
    );
    sent.messages.push({ topic, subject, message });
    const result = `<PublishResult><MessageId>${randomUUID()}</MessageId></PublishResult>`;
    return xml(`<PublishResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/">${result}</PublishResponse>`);
  },
  denied: (message) =>
    xml(
      `<ErrorResponse><Error><Code>AuthorizationError</Code><Message>${message}</Message></Error></ErrorResponse>`,
      403,
    ),
});

/** The customer managed keys of topics. The AWS managed key needs no permission of the publisher. */
export const topicKeys = (deployed: Deployed): ReadonlyMap<string, string | undefined> =>
  new Map(
    allOf<{ KmsMasterKeyId?: string }>(deployed, 'AWS::SNS::Topic').map(
      ({ ref, properties: { KmsMasterKeyId: key } }) => [ref, key?.startsWith('alias/aws/') ? undefined : key],
    ),
  );

interface Entry {
  readonly EventBusName: string;
  readonly DetailType: string;
  readonly Detail: string;
}

/** A fake EventBridge that records events. */
export const eventBridge = (sent: SentMessages, busArn: (name: string) => string): Service => ({
  wanted(call) {
    if (operationOf(call) !== 'PutEvents') throw new Error(`EventBridge ${operationOf(call)} is not implemented.`);
    const { Entries } = inputOf<{ Entries: readonly Entry[] }>(call);
    return Entries.map(({ EventBusName }) => ({ action: 'events:PutEvents', resource: busArn(EventBusName) }));
  },
  async respond(call) {
    const { Entries } = inputOf<{ Entries: readonly Entry[] }>(call);
    if (sent.isBusDown)
      return json({ FailedEntryCount: Entries.length, Entries: Entries.map(() => ({ ErrorCode: 'InternalFailure' })) });
    for (const { EventBusName, DetailType, Detail } of Entries)
      sent.events.push({ bus: EventBusName, type: DetailType, detail: JSON.parse(Detail) });
    return json({ FailedEntryCount: 0, Entries: Entries.map(() => ({ EventId: randomUUID() })) });
  },
  denied: (message) => jsonError('AccessDeniedException', message),
});

const xml = (body: string, status = 200) => ({ status, headers: { 'content-type': 'text/xml' }, body });
