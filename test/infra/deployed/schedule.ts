import { randomUUID } from 'node:crypto';
import { allOf, type Deployed } from './resolve.ts';

/** The event with which the rule of a template invokes a function on schedule; refuses where it may not. */
export function scheduledEvent(deployed: Deployed, target: string): object {
  const { region, accountId } = deployed.place;
  const rule = allOf<{ Targets: { Arn: string }[]; State: string }>(deployed, 'AWS::Events::Rule').find(
    ({ properties }) => properties.State === 'ENABLED' && properties.Targets.some(({ Arn }) => Arn === target),
  );
  const isPermitted = allOf<{ FunctionName: string; Principal: string; SourceArn: string }>(
    deployed,
    'AWS::Lambda::Permission',
  ).some(
    ({ properties: { FunctionName, Principal, SourceArn } }) =>
      FunctionName === target && Principal === 'events.amazonaws.com' && SourceArn === rule?.arn,
  );
  if (!rule || !isPermitted) throw new Error(`No rule may invoke ${target}.`);
  return {
    ...{ version: '0', id: randomUUID(), 'detail-type': 'Scheduled Event', source: 'aws.events' },
    ...{ account: accountId, time: '2026-11-17T10:00:00Z', region, resources: [rule.arn], detail: {} },
  };
}
