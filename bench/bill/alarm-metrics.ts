import { CfnAlarm } from 'aws-cdk-lib/aws-cloudwatch';
import { withWaitstate } from '../with-waitstate.ts';

let cachedCount: number | undefined;

/** How many metrics the construct's alarms watch; CloudWatch bills each metric of an alarm. */
export function alarmMetrics(): number {
  cachedCount ??= withWaitstate(({ node }) =>
    node
      .findAll()
      .filter((each) => each instanceof CfnAlarm)
      .reduce((all, { metrics, stack }) => all + countMetrics(stack.resolve(metrics)), 0),
  );
  return cachedCount;
}

/** An alarm on one metric has no list; in a list, metric math expressions are not billed. */
const countMetrics = (list: readonly { readonly metricStat?: object }[] | undefined): number =>
  list?.filter(({ metricStat }) => metricStat).length ?? 1;
