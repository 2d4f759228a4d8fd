import { describe, expect, it } from 'vitest';
import { HANDLERS, serviceOf } from '../../../../lambda/environment/names.ts';
import type { Account } from '../account.ts';
import { bundleText } from '../bundle.ts';
import { inAlarms, inDashboard, type Metric, metricsIn } from '../metrics.ts';
import { accounts } from '../scene.ts';

const textOf = ({ namespace, service, metric }: Metric): string => `${namespace} ${service} ${metric}`;

/** After all stories: alarms and dashboard use metrics that the handlers write. */
export function measured(): void {
  describe('metrics', () => {
    const functionOf = (account: Account, { service }: Metric) => {
      const handler = HANDLERS.find((name) => serviceOf(name) === service);
      return account.functions.find((each) => each.handler === `${handler}.handler`);
    };

    it('are written into the namespace of their deployment, by the function in their dimension', () => {
      for (const account of accounts()) {
        const written = account.invocations.flatMap(({ label, lines }) =>
          metricsIn(lines).map((each) => ({ ...each, label })),
        );
        for (const { label, ...metric } of written) {
          const { handler, variables } = account.named(label);
          expect([metric.service, metric.namespace]).toEqual([
            `waitstate-${handler.split('.')[0]}`,
            variables.WAITSTATE_METRICS_NAMESPACE,
          ]);
        }
        expect(account.invocations.length === 0 || written.length > 0).toBe(true);
      }
    });

    it.each([
      ['alarms', inAlarms],
      ['the dashboard', inDashboard],
    ])('are written by the function in their dimension if they are used in %s', (_, usedMetrics) => {
      const all = accounts();
      const written = new Set(
        all.flatMap(({ invocations }) => invocations.flatMap(({ lines }) => metricsIn(lines).map(textOf))),
      );
      for (const account of all) {
        const metrics = usedMetrics(account.deployed);
        expect(metrics.length).toBeGreaterThan(5);
        // A metric that no story caused must at least occur in the code of its function.
        const neverWritten = metrics.filter((metric) => {
          const behind = functionOf(account, metric);
          const { WAITSTATE_METRICS_NAMESPACE: namespace } = behind?.variables ?? {};
          if (!behind || namespace !== metric.namespace) return true;
          const [module] = behind.handler.split('.');
          return (
            !written.has(textOf(metric)) && !bundleText(behind.folder, `${module}.mjs`).includes(`"${metric.metric}"`)
          );
        });
        expect(neverWritten).toEqual([]);
      }
    });
  });
}
