import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { omitUndefined } from '../lambda/core/omit-undefined.ts';
import type { WaitstateProps } from './waitstate-props.ts';

/** What is taken where nothing is said. */
export const DEFAULTS = {
  versioned: false,
  removalPolicy: RemovalPolicy.RETAIN,
  alarms: true,
  dashboard: true,
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

/** What was said, and what is taken where nothing was. */
export type ResolvedProps = WaitstateProps &
  Required<Pick<WaitstateProps, keyof typeof DEFAULTS | 'deletionProtection'>>;

export function resolveProps(props: WaitstateProps): ResolvedProps {
  const settled = { ...DEFAULTS, ...omitUndefined(props) };
  return { deletionProtection: settled.removalPolicy !== RemovalPolicy.DESTROY, ...settled };
}
