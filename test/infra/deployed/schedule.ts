import { randomUUID } from 'node:crypto';
import { allOf, type Deployed } from './resolve.ts';

/** The event of the rule that invokes a function on a schedule; throws if no rule is allowed to. */
export function scheduledEvent(deployed: Deployed, target: string): object {
  const { region, accountId } = deployed.target;
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
  if (!rule || !isPermitted) throw new Error(`No enabled rule is allowed to invoke ${target}.`);
  return {
    version: '0',
    id: randomUUID(),
    'detail-type': 'Scheduled Event',
    source: 'aws.events',
    account: accountId,
    time: '2026-11-17T10:00:00Z',
    region,
    resources: [rule.arn],
    detail: {},
  };
}
