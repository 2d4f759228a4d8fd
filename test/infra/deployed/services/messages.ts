import { randomUUID } from 'node:crypto';
import { allOf, type Deployed } from '../resolve.ts';
import { inputOf, json, jsonError, operationOf, type Service, viaService } from './service.ts';

/** What was said to people and to everybody else. */
export interface SentMessages {
  readonly messages: { readonly topic: string; readonly subject: string; readonly message: string }[];
  readonly events: {
    readonly bus: string;
    readonly type: string;
    readonly detail: Readonly<Record<string, unknown>>;
  }[];
}

/** SNS that only notes what it is told. Topics by ARN, with the key of KMS that encrypts each; undefined for one of AWS. */
export const sns = (said: SentMessages, topics: ReadonlyMap<string, string | undefined>, region: string): Service => ({
  wanted({ body }) {
    const input = new URLSearchParams(body.toString());
    if (input.get('Action') !== 'Publish') throw new Error(`${input.get('Action')} of SNS is not known here.`);
    const resource = input.get('TopicArn') ?? '';
    const key = topics.get(resource);
    const keyed = key === undefined ? [] : viaService(key, 'sns', region, 'GenerateDataKey', 'Decrypt');
    return [{ action: 'sns:Publish', resource }, ...keyed];
  },
  async answer({ body }) {
    const input = new URLSearchParams(body.toString());
    const [topic = '', subject = '', message = ''] = ['TopicArn', 'Subject', 'Message'].map(
      (name) => input.get(name) ?? '',
    );
    said.messages.push({ topic, subject, message });
    const result = `<PublishResult><MessageId>${randomUUID()}</MessageId></PublishResult>`;
    return xml(`<PublishResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/">${result}</PublishResponse>`);
  },
  denied: (message) =>
    xml(
      `<ErrorResponse><Error><Code>AuthorizationError</Code><Message>${message}</Message></Error></ErrorResponse>`,
      403,
    ),
});

/** The keys of the topics of a template; those of AWS are open to everybody in the account who may publish. */
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

/** EventBridge that only notes what it is told. */
export const eventBridge = (said: SentMessages, busArn: (name: string) => string): Service => ({
  wanted(call) {
    if (operationOf(call) !== 'PutEvents') throw new Error(`${operationOf(call)} of EventBridge is not known here.`);
    const { Entries } = inputOf<{ Entries: readonly Entry[] }>(call);
    return Entries.map(({ EventBusName }) => ({ action: 'events:PutEvents', resource: busArn(EventBusName) }));
  },
  async answer(call) {
    const { Entries } = inputOf<{ Entries: readonly Entry[] }>(call);
    for (const { EventBusName, DetailType, Detail } of Entries)
      said.events.push({ bus: EventBusName, type: DetailType, detail: JSON.parse(Detail) });
    return json({ FailedEntryCount: 0, Entries: Entries.map(() => ({ EventId: randomUUID() })) });
  },
  denied: (message) => jsonError('AccessDeniedException', message),
});

const xml = (body: string, status = 200) => ({ status, headers: { 'content-type': 'text/xml' }, body });
