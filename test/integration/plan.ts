import type { Account, Leftover } from './cloud.ts';

/** What people must know before they say yes. */
export const planLines = ({ id, region, caller }: Account, stack: string, keep: boolean): readonly string[] => [
  'This tests Waitstate in a real AWS account. The tests and the CI of the project do not:',
  'they go as far as one can without AWS.',
  '',
  `  account  ${id}, as ${caller}`,
  `  region   ${region}`,
  `  deploys  the stack ${stack} by CDK: a table, a bucket, functions, an HTTP API, a queue,`,
  '           topics, a bus, alarms, a dashboard',
  '  then     starts runs, answers approvals, waits for a timer, looks for errors',
  keep
    ? '  and      leaves everything, since you said --keep'
    : '  and      removes the stack with all runs in it, also after Ctrl-C or when something fails',
  '  takes    about 15 minutes',
  '  costs    less than 10 US cents, most of it for alarms, metrics and the dashboard by the hour',
  '  leaves   the code of the functions in the bucket that "cdk bootstrap" made; traces and metrics,',
  '           until AWS drops them; the backup that DynamoDB keeps of a removed table, 35 days at no charge',
  '',
];

/** What to run where CDK has never deployed. */
export const bootstrapAdvice = ({ id, region }: Account): string =>
  `CDK cannot deploy to account ${id} in ${region} yet. Prepare it once, then try again: npx cdk bootstrap aws://${id}/${region}`;

/** What to do with a stack that stays. */
export const keptLines = (stack: string, region: string, left: readonly Leftover[]): readonly string[] => [
  `${stack} stays, as you said. It costs about 10 US dollars a month. To look at it:`,
  `  npm run -s waitstate -- console --stack ${stack} --region ${region}`,
  'To remove it:',
  ...removalLines(stack, region, left),
];

const MOST_LINES = 12;

/** What could not be removed. */
export function leftLines(left: readonly Leftover[] | undefined): readonly string[] {
  if (!left) return ['  What is left of it could not be found out.'];
  const more = left.length - MOST_LINES;
  return [
    '  Still there, or being removed just now:',
    ...left.slice(0, MOST_LINES).map(({ type, name }) => `  ${type} ${name}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}

/** How to remove a stack by hand. */
export const removalLines = (stack: string, region: string, left: readonly Leftover[]): readonly string[] => [
  ...left
    .filter(({ type }) => type === 'AWS::S3::Bucket')
    .map(({ name }) => `  aws s3 rm s3://${name} --recursive --region ${region}`),
  `  aws cloudformation delete-stack --stack-name ${stack} --region ${region}`,
  `  aws cloudformation wait stack-delete-complete --stack-name ${stack} --region ${region}`,
];
