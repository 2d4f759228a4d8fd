import type { Account, Leftover } from './cloud.ts';

/** The plan that is printed before the prompt. */
export const planLines = ({ id, region, caller }: Account, stack: string, keep: boolean): readonly string[] => [
  'This tests Waitstate in a real AWS account. The tests and the CI of the project do not:',
  'they run against local engines.',
  '',
  `  account  ${id}, as ${caller}`,
  `  region   ${region}`,
  `  deploys  the stack ${stack} with CDK: a table, a bucket, functions, an HTTP API, a queue,`,
  '           topics, a bus, alarms, a dashboard',
  '  then     starts runs, decides approvals, waits for a timer, checks for errors',
  keep
    ? '  and      keeps everything, because of --keep'
    : '  and      removes the stack with all its runs, also after Ctrl-C or a failure',
  '  takes    about 15 minutes',
  '  costs    less than 10 US cents, mostly for alarms, metrics and the dashboard',
  '  leaves   the code of the functions in the bucket of "cdk bootstrap"; traces and metrics,',
  '           until AWS deletes them; the backup of the deleted table, for 35 days at no charge',
  '',
];

/** The message for an account without the CDK bootstrap. */
export const bootstrapAdvice = ({ id, region }: Account): string =>
  `Account ${id} in ${region} is not bootstrapped for CDK. Run this once, then try again: npx cdk bootstrap aws://${id}/${region}`;

/** How to use and remove a stack that is kept. */
export const keptLines = (stack: string, region: string, left: readonly Leftover[]): readonly string[] => [
  `${stack} is kept. It costs about 10 US dollars a month. To open its console:`,
  `  npm run -s waitstate -- console --stack ${stack} --region ${region}`,
  'To remove it:',
  ...removalLines(stack, region, left),
];

const MAX_LINES = 12;

/** The remaining resources of a stack. */
export function leftLines(left: readonly Leftover[] | undefined): readonly string[] {
  if (!left) return ['  Its remaining resources could not be listed.'];
  const more = left.length - MAX_LINES;
  return [
    '  Remaining, or still being deleted:',
    ...left.slice(0, MAX_LINES).map(({ type, name }) => `  ${type} ${name}`),
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
