import { randomUUID } from 'node:crypto';
import { allOf, type Deployed } from './resolve.ts';

interface Target {
  readonly Arn: string;
  readonly Input?: string;
}

/** The event of the rule with this id that invokes a function on a schedule; throws if no such rule is allowed to. */
export function scheduledEvent(deployed: Deployed, target: string, id: string): object {
  const { region, accountId } = deployed.target;
  const rule = allOf<{ Targets: Target[]; State: string }>(deployed, 'AWS::Events::Rule').find(
    ({ path, properties }) =>
      path.endsWith(`/${id}`) && properties.State === 'ENABLED' && properties.Targets.some(({ Arn }) => Arn === target),
  );
  const isPermitted = allOf<{ FunctionName: string; Principal: string; SourceArn: string }>(
    deployed,
    'AWS::Lambda::Permission',
  ).some(
    ({ properties: { FunctionName, Principal, SourceArn } }) =>
      FunctionName === target && Principal === 'events.amazonaws.com' && SourceArn === rule?.arn,
  );
  if (!rule || !isPermitted) throw new Error(`No enabled rule ${id} is allowed to invoke ${target}.`);
  const { Input } = rule.properties.Targets.find(({ Arn }) => Arn === target) ?? {};
  if (Input !== undefined) return JSON.parse(Input);
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
