import {
  type CloudFormationClient,
  CloudFormationServiceException,
  paginateListStackResources,
  type StackResourceSummary,
} from '@aws-sdk/client-cloudformation';

/** What is there of a stack; undefined when there is no such stack. */
export async function resourcesOf(
  client: CloudFormationClient,
  StackName: string,
): Promise<readonly StackResourceSummary[] | undefined> {
  const found: StackResourceSummary[] = [];
  try {
    for await (const page of paginateListStackResources({ client }, { StackName }))
      found.push(...(page.StackResourceSummaries ?? []));
  } catch (error) {
    if (error instanceof CloudFormationServiceException && /does not exist/.test(error.message)) return undefined;
    throw error;
  }
  return found.filter(
    ({ PhysicalResourceId, ResourceStatus }) => PhysicalResourceId && ResourceStatus !== 'DELETE_COMPLETE',
  );
}

/** The names of all resources of a type; with `id`, of those whose logical id begins so, before what CDK adds to it. */
export const namesOf = (resources: readonly StackResourceSummary[], type: string, id = '.*'): readonly string[] =>
  resources
    .filter(({ ResourceType, LogicalResourceId = '' }) => {
      return ResourceType === type && new RegExp(`^${id}[0-9A-F]{8}$`).test(LogicalResourceId);
    })
    .map(({ PhysicalResourceId = '' }) => PhysicalResourceId);

/** The only one of them. */
export function nameOf(resources: readonly StackResourceSummary[], type: string, id?: string): string {
  const found = namesOf(resources, type, id);
  const [name] = found;
  if (name === undefined || found.length > 1)
    throw new Error(
      `The stack must have one ${type}${id ? ` called ${id}…` : ''}; found ${found.join(', ') || 'none'}.`,
    );
  return name;
}
