import { type Duration, Token } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { DUE_SHARD_COUNT } from '../lambda/checkpoints/format/records.ts';
import { escapeId } from '../lambda/core/ids.ts';
import { isOrigin } from '../lambda/environment/is-origin.ts';
import { MAX_SECONDS } from '../lambda/environment/seconds-variable.ts';
import type { WaitstateProps } from './waitstate-props.ts';

/** Refuses what could not be deployed, or would not work once it is, before anything is made of it. */
export function checkProps({ node }: Construct, props: WaitstateProps): void {
  const refuse = (why: string): never => {
    throw new Error(`${node.path}: ${why}`);
  };
  for (const check of [tenants, times, numbers, callers, origins, domain, brought]) check(props, refuse);
}

type Check = (props: WaitstateProps, refuse: (why: string) => never) => void;

// The most that the name of a bucket has, and that CDK puts into one policy.
const MOST_BUCKET = 63;
const MOST_STATEMENT = 5500;

const tenants: Check = ({ tenants, jwt, iamCallers = {} }, refuse) => {
  if (!tenants) return;
  if (tenants.length === 0) refuse('`tenants` must name one at least; leave it out to have any.');
  const names = tenants.map((tenant) => `arn:aws:s3:::${'x'.repeat(MOST_BUCKET)}/${escapeId('tenant', tenant)}/*","`);
  if (names.join('').length > MOST_STATEMENT)
    refuse(
      `\`tenants\` names ${tenants.length}, more than a policy of IAM has room for. Leave it out, or have several Waitstates.`,
    );
  const named = [
    ...(jwt && 'tenant' in jwt ? [jwt.tenant] : []),
    ...Object.values(iamCallers).map((each) => each.tenant),
  ];
  for (const tenant of named.filter((each) => !tenants.includes(each)))
    refuse(`a tenant must be one of ${tenants.join(', ')}; found "${tenant}" for callers. Add it to \`tenants\`.`);
};

const times: Check = ({ retention, sweepEvery }, refuse) => {
  const seconds = secondsOf(retention);
  if (seconds !== undefined && !(Number.isInteger(seconds) && seconds >= 1 && seconds <= MAX_SECONDS))
    refuse(`\`retention\` must be whole seconds, from 1 to ${MAX_SECONDS}; found ${retention}. Leave it out for ever.`);
  const minutes = (secondsOf(sweepEvery) ?? 60) / 60;
  if (!(Number.isInteger(minutes) && minutes >= 1 && minutes <= 60))
    refuse(`\`sweepEvery\` must be whole minutes, from 1 to 60; found ${sweepEvery}.`);
};

const secondsOf = (duration: Duration | undefined): number | undefined =>
  duration?.isUnresolved() ? undefined : duration?.toSeconds({ integral: false });

const numbers: Check = ({ sweepers, throttleRate, throttleBurst, reservedConcurrency = {} }, refuse) => {
  const whole = (name: string, value: number | undefined, least: number, most = Infinity): void => {
    if (value === undefined || Token.isUnresolved(value)) return;
    if (Number.isInteger(value) && value >= least && value <= most) return;
    refuse(
      `\`${name}\` must be a whole number, ${least} or more${most < Infinity ? `, ${most} at most` : ''}; found ${value}.`,
    );
  };
  whole('sweepers', sweepers, 1, DUE_SHARD_COUNT);
  whole('throttleRate', throttleRate, 1);
  whole('throttleBurst', throttleBurst, 1);
  for (const [name, value] of Object.entries(reservedConcurrency)) whole(`reservedConcurrency.${name}`, value, 0);
};

const callers: Check = ({ jwt, iamCallers = {} }, refuse) => {
  if (jwt && !Token.isUnresolved(jwt.issuer) && URL.parse(jwt.issuer)?.protocol !== 'https:')
    refuse(`\`jwt.issuer\` must be a URL that begins with https://; found ${jwt.issuer}.`);
  if (jwt?.audience.length === 0) refuse('`jwt.audience` must name one at least: tokens for others are not for you.');
  for (const arn of Object.keys(iamCallers)) {
    if (Token.isUnresolved(arn) && !arn.startsWith('arn:')) continue;
    if (!arn.startsWith('arn:')) refuse(`\`iamCallers\` must be named by ARNs; found "${arn}".`);
    if (/^arn:[^:]*:iam::[^:]*:role\//.test(arn))
      refuse(
        `\`iamCallers\` must name a role as it calls, such as arn:aws:sts::111122223333:assumed-role/Ops/*; found ${arn}.`,
      );
  }
};

const origins: Check = ({ corsOrigins = [] }, refuse) => {
  for (const each of corsOrigins)
    if (!Token.isUnresolved(each) && !isOrigin(each))
      refuse(`\`corsOrigins\` must be origins such as https://portal.example.com, without a path or *; found ${each}.`);
};

const domain: Check = ({ domainName, certificate, hostedZone }, refuse) => {
  if (domainName === undefined) {
    if (certificate || hostedZone) refuse('a certificate or zone is for a domain. Give `domainName`, too.');
    return;
  }
  if (!certificate) refuse(`the domain ${domainName} needs a certificate. Give \`certificate\`.`);
  if (Token.isUnresolved(domainName)) return;
  if (!/^[a-z\d-]+(\.[a-z\d-]+)+$/.test(domainName))
    refuse(`\`domainName\` must be a name such as approvals.example.com; found ${domainName}.`);
  const zone = hostedZone?.zoneName ?? domainName;
  if (!Token.isUnresolved(zone) && !`.${domainName}`.endsWith(`.${zone}`))
    refuse(`\`domainName\` must be in the zone ${zone}; found ${domainName}.`);
};

/** What is brought is as it is. */
const brought: Check = ({ table, bucket, deletionProtection, versioned, accessLogBucket, ...props }, refuse) => {
  if (table && deletionProtection !== undefined)
    refuse('`deletionProtection` is for a table that is made here, not yours.');
  if (bucket && versioned !== undefined) refuse('`versioned` is for a bucket that is made here, not yours.');
  if (bucket && accessLogBucket) refuse('`accessLogBucket` is for a bucket that is made here, not yours.');
  if (props.acceptUnencrypted && !props.runKey)
    refuse('`acceptUnencrypted` is for runs from before there was a `runKey`, and there is none.');
  if (props.retiredRunKeys?.length && !props.runKey)
    refuse('`retiredRunKeys` open what `runKey` wraps anew. Give `runKey`, too.');
  if (props.alarms === false && props.alarmTopic) refuse('`alarmTopic` is for alarms, and there are none.');
  if (!props.vpc && (props.vpcSubnets || props.securityGroups))
    refuse('`vpcSubnets` and `securityGroups` are for a network. Give `vpc`, too.');
};
