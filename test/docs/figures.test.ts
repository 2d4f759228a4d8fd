import { describe, expect, it } from 'vitest';
import { ALARM_METRICS, FUNCTIONS } from '../../bench/bill/lines.ts';
import { billReport } from '../../bench/bill/report.ts';
import { missingIn } from '../../bench/page-tables.ts';
import { THROTTLE_RATE } from '../../bench/scale/demands.ts';
import { scaleReport } from '../../bench/scale/report.ts';
import { startWire } from '../../bench/wire.ts';
import { DEPLOYED } from '../../infra/handlers/handler-functions.ts';
import { Holdpoint } from '../../infra/index.ts';
import { stackOf } from '../infra/stacks.ts';
import { StackTemplate } from '../infra/template.ts';
import { pages } from './markdown.ts';

const textOf = (name: string): string => pages.find(({ path }) => path === `docs/${name}`)?.text ?? '';

interface Alarm {
  readonly MetricName?: string;
  readonly Metrics?: readonly { readonly MetricStat?: object }[];
}

describe('the cost page', () => {
  it('says what `npm run bill` prints; `npm run bill -- --write` puts it there', async () => {
    const wire = await startWire();
    try {
      expect(missingIn(textOf('cost.md'), await billReport(wire))).toEqual([]);
    } finally {
      await wire.stop();
    }
  });

  it('takes functions, alarms and throttles to be what the construct makes of them', () => {
    const stack = stackOf();
    new Holdpoint(stack, 'Holdpoint');
    const template = new StackTemplate(stack);
    const { agent, ...handlers } = FUNCTIONS;
    for (const [name, { memoryMB }] of Object.entries(handlers))
      expect(DEPLOYED[name as keyof typeof handlers].memoryMB).toBe(memoryMB);
    const metrics = template
      .all<Alarm>('AWS::CloudWatch::Alarm')
      .map(({ Properties: { Metrics } }) => Metrics?.filter(({ MetricStat }) => MetricStat).length ?? 1);
    expect(metrics.reduce((all, each) => all + each, 0)).toBe(ALARM_METRICS);
    const { Properties: stage } = template.one<{ DefaultRouteSettings: object }>('AWS::ApiGatewayV2::Stage');
    expect(stage.DefaultRouteSettings).toMatchObject({ ThrottlingRateLimit: THROTTLE_RATE });
  });
});

describe('the scale page', () => {
  it('says what `npm run scale` prints; `npm run scale -- --write` puts it there', async () => {
    expect(missingIn(textOf('scale.md'), await scaleReport())).toEqual([]);
  });
});
