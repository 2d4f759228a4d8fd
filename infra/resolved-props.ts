import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { omitUndefined } from '../lambda/core/omit-undefined.ts';
import type { WaitstateProps } from './waitstate-props.ts';

/** The defaults of props that have one. */
export const DEFAULTS = {
  versioned: false,
  removalPolicy: RemovalPolicy.RETAIN,
  alarms: true,
  dashboard: true,
  routeMetrics: false,
  disableExecuteApiEndpoint: false,
  logRetention: RetentionDays.THREE_MONTHS,
  reservedConcurrency: {},
  sweepEvery: Duration.minutes(1),
  sweepers: 1,
  throttleRate: 100,
  throttleBurst: 200,
  retiredEncryptionKeys: [],
  retiredRunKeys: [],
  corsOrigins: [],
} as const satisfies WaitstateProps;

/** The given props with the defaults filled in. */
export type ResolvedProps = WaitstateProps &
  Required<Pick<WaitstateProps, keyof typeof DEFAULTS | 'deletionProtection'>>;

/** Fills in the defaults. */
export function resolveProps(props: WaitstateProps): ResolvedProps {
  const resolved = { ...DEFAULTS, ...omitUndefined(props) };
  return { deletionProtection: resolved.removalPolicy !== RemovalPolicy.DESTROY, ...resolved };
}
