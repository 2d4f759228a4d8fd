import { type Duration, Token } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { escapeId } from '../lambda/core/ids.ts';
import { isOrigin } from '../lambda/environment/is-origin.ts';
import { MAX_SECONDS } from '../lambda/environment/seconds-variable.ts';
import { DUE_SHARD_COUNT } from '../lambda/storage/keys.ts';
import type { WaitstateProps } from './waitstate-props.ts';

/** Throws on props that could not be deployed or would not work, before any resource is created. */
export function checkProps({ node }: Construct, props: WaitstateProps): void {
  const fail = (problem: string): never => {
    throw new Error(`${node.path}: ${problem}`);
  };
  const checks = [tenants, names, durations, numbers, callers, origins, domain, existingResources, dependentProps];
  for (const check of checks) check(props, fail);
}

type Check = (props: WaitstateProps, fail: (problem: string) => never) => void;

const MAX_BUCKET_NAME_LENGTH = 63;

// CDK puts at most this many characters into one policy.
const MAX_STATEMENT_LENGTH = 5500;

const tenants: Check = ({ tenants, jwt, iamCallers = {} }, fail) => {
  if (!tenants) return;
  if (tenants.length === 0) fail('`tenants` must list at least one tenant. Omit it to allow any tenant.');
  const bucketName = 'x'.repeat(MAX_BUCKET_NAME_LENGTH);
  const arns = tenants.map((tenant) => `arn:aws:s3:::${bucketName}/${escapeId('tenant', tenant)}/*","`);
  if (arns.join('').length > MAX_STATEMENT_LENGTH)
    fail(
      `\`tenants\` must fit into one IAM policy; found ${tenants.length} tenants, which do not. Omit it, or create several Waitstates.`,
    );
  const callerTenants = [
    ...(jwt && 'tenant' in jwt ? [jwt.tenant] : []),
    ...Object.values(iamCallers).map(({ tenant }) => tenant),
  ];
  for (const tenant of callerTenants.filter((each) => !tenants.includes(each)))
    fail(`the tenant of a caller must be one of ${tenants.join(', ')}; found "${tenant}". Add it to \`tenants\`.`);
};

const names: Check = ({ functionNamePrefix: prefix }, fail) => {
  if (prefix !== undefined && !Token.isUnresolved(prefix) && !/^[\w-]+$/.test(prefix))
    fail(`\`functionNamePrefix\` must consist of letters, digits, - and _; found "${prefix}".`);
};

const durations: Check = ({ retention, sweepEvery }, fail) => {
  const seconds = toSeconds(retention);
  if (seconds !== undefined && !(Number.isInteger(seconds) && seconds >= 1 && seconds <= MAX_SECONDS))
    fail(
      `\`retention\` must be whole seconds, from 1 to ${MAX_SECONDS} (100 years); found ${retention}. Omit it to keep runs forever.`,
    );
  const minutes = (toSeconds(sweepEvery) ?? 60) / 60;
  if (!(Number.isInteger(minutes) && minutes >= 1 && minutes <= 60))
    fail(`\`sweepEvery\` must be whole minutes, from 1 to 60; found ${sweepEvery}.`);
};

const toSeconds = (duration: Duration | undefined): number | undefined =>
  duration?.isUnresolved() ? undefined : duration?.toSeconds({ integral: false });

const numbers: Check = ({ sweepers, throttleRate, throttleBurst, reservedConcurrency = {} }, fail) => {
  const checkInteger = (name: string, value: number | undefined, min: number, max = Infinity): void => {
    if (value === undefined || Token.isUnresolved(value)) return;
    if (Number.isInteger(value) && value >= min && value <= max) return;
    const range = max < Infinity ? `from ${min} to ${max}` : `of at least ${min}`;
    fail(`\`${name}\` must be a whole number ${range}; found ${value}.`);
  };
  checkInteger('sweepers', sweepers, 1, DUE_SHARD_COUNT);
  checkInteger('throttleRate', throttleRate, 1);
  checkInteger('throttleBurst', throttleBurst, 1);
  for (const [name, value] of Object.entries(reservedConcurrency))
    checkInteger(`reservedConcurrency.${name}`, value, 0);
};

const callers: Check = ({ jwt, iamCallers = {} }, fail) => {
  if (jwt && !Token.isUnresolved(jwt.issuer) && URL.parse(jwt.issuer)?.protocol !== 'https:')
    fail(`\`jwt.issuer\` must be a URL that starts with https://; found ${jwt.issuer}.`);
  if (jwt?.audience.length === 0)
    fail('`jwt.audience` must list at least one client, so that tokens for other applications are rejected.');
  for (const arn of Object.keys(iamCallers)) {
    if (Token.isUnresolved(arn) && !arn.startsWith('arn:')) continue;
    if (!arn.startsWith('arn:')) fail(`the keys of \`iamCallers\` must be ARNs; found "${arn}".`);
    if (/^arn:[^:]*:iam::[^:]*:role\//.test(arn))
      fail(
        `\`iamCallers\` must list a role by its session ARN, such as arn:aws:sts::111122223333:assumed-role/Ops/*; found ${arn}.`,
      );
  }
};

const origins: Check = ({ corsOrigins = [] }, fail) => {
  for (const each of corsOrigins)
    if (!Token.isUnresolved(each) && !isOrigin(each))
      fail(`\`corsOrigins\` must be origins such as https://portal.example.com, without a path or *; found ${each}.`);
};

const domain: Check = ({ domainName, certificate, hostedZone, disableExecuteApiEndpoint }, fail) => {
  if (domainName === undefined) {
    if (certificate || hostedZone) fail('`certificate` and `hostedZone` require a domain. Set `domainName`, too.');
    if (disableExecuteApiEndpoint)
      fail('`disableExecuteApiEndpoint` leaves only your own domain. Set `domainName`, too.');
    return;
  }
  if (!certificate) fail(`the domain ${domainName} requires a certificate. Set \`certificate\`.`);
  if (Token.isUnresolved(domainName)) return;
  if (!/^[a-z\d-]+(\.[a-z\d-]+)+$/.test(domainName))
    fail(`\`domainName\` must be a name such as approvals.example.com; found ${domainName}.`);
  const zone = hostedZone?.zoneName ?? domainName;
  if (!Token.isUnresolved(zone) && !`.${domainName}`.endsWith(`.${zone}`))
    fail(`\`domainName\` must be in the zone ${zone}; found ${domainName}.`);
};

const existingResources: Check = ({ table, bucket, deletionProtection, versioned, accessLogBucket }, fail) => {
  const ownBucket = 'is an option of the bucket that Waitstate creates. Set it on your own bucket instead.';
  if (table && deletionProtection !== undefined)
    fail('`deletionProtection` is an option of the table that Waitstate creates. Set it on your own table instead.');
  if (bucket && versioned !== undefined) fail(`\`versioned\` ${ownBucket}`);
  if (bucket && accessLogBucket) fail(`\`accessLogBucket\` ${ownBucket}`);
};

const dependentProps: Check = (props, fail) => {
  if (props.acceptUnencrypted && !props.runKey)
    fail('`acceptUnencrypted` accepts runs from before `runKey` was set. Set `runKey`, too.');
  if (props.retiredRunKeys?.length && !props.runKey)
    fail('`retiredRunKeys` decrypt runs that `runKey` wraps again. Set `runKey`, too.');
  if (props.alarms === false && props.alarmTopic)
    fail('`alarmTopic` receives alarms, and `alarms` is false. Remove one of them.');
  if (!props.vpc && (props.vpcSubnets || props.securityGroups))
    fail('`vpcSubnets` and `securityGroups` require a network. Set `vpc`, too.');
};
