import type { Account } from './account.ts';
import { allOf, type Deployed } from './resolve.ts';

/** A permission of a kind of role, such as `Api: dynamodb:GetItem on Table`. */
interface Line {
  readonly text: string;
  readonly isUsed: boolean;
}

/** The permissions that were used in none of the accounts, by kind of role. */
export function unused(accounts: readonly Account[]): readonly string[] {
  const lines = accounts.flatMap(linesOf);
  const used = new Set(lines.filter(({ isUsed }) => isUsed).map(({ text }) => text));
  return [...new Set(lines.map(({ text }) => text))].filter((text) => !used.has(text)).sort();
}

const linesOf = ({ deployed, functions, roles }: Account): readonly Line[] =>
  allOf(deployed, 'AWS::IAM::Role').flatMap(({ ref, path }) => {
    const behind = functions.find(({ role }) => role === ref);
    const kind = (behind?.label ?? path.split('/').at(-1) ?? '').replace(/-.*/, '');
    return roles.permissions(ref).map(({ action, resource, isUsed }) => ({
      text: `${kind}: ${action} on ${resourceName(deployed, resource)}`,
      isUsed,
    }));
  });

/** A resource of a policy without generated names: `Table/index/due`, `Bucket/…`. */
function resourceName(deployed: Deployed, resource: string): string {
  const found = deployed.resources
    .flatMap(({ type, path, identity }) => {
      const arn = type === 'AWS::ApiGatewayV2::Api' ? executeArn(deployed, identity?.Ref) : identity?.Arn;
      return [identity?.StreamArn, arn ?? identity?.Ref].map((each) => ({
        type,
        path,
        arn: each,
        isStream: each === identity?.StreamArn,
      }));
    })
    .find(({ arn }) => arn !== undefined && arn !== '' && resource.startsWith(arn));
  if (!found) return resource.replaceAll(/:\d{12}:/g, ':').replaceAll(/^arn:aws:|[a-z]+-[a-z]+-\d:/g, '');
  const name =
    found.path
      .split('/')
      .at(-1)
      ?.replace(/^Agent-.*/, 'Agent') ?? '';
  if (found.isStream) return `${name}/stream`;
  const rest = resource.slice(found.arn?.length);
  return name + (found.type === 'AWS::S3::Bucket' && rest !== '' ? '/…' : rest);
}

const executeArn = ({ target: { region, accountId } }: Deployed, id: string | undefined): string =>
  `arn:aws:execute-api:${region}:${accountId}:${id}`;
