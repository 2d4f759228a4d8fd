import {
  type CloudFormationClient,
  CloudFormationServiceException,
  paginateListStackResources,
  type StackResourceSummary,
} from '@aws-sdk/client-cloudformation';

/** The resources of a stack; undefined if the stack does not exist. */
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

/** The names of all resources of a type, or of those whose logical id is `id` with the hash of CDK. */
export const namesOf = (resources: readonly StackResourceSummary[], type: string, id = '.*'): readonly string[] =>
  resources
    .filter(({ ResourceType, LogicalResourceId = '' }) => {
      return ResourceType === type && new RegExp(`^${id}[0-9A-F]{8}$`).test(LogicalResourceId);
    })
    .map(({ PhysicalResourceId = '' }) => PhysicalResourceId);

/** The name of the only such resource. */
export function nameOf(resources: readonly StackResourceSummary[], type: string, id?: string): string {
  const found = namesOf(resources, type, id);
  const [name] = found;
  if (name === undefined || found.length > 1)
    throw new Error(
      `The stack must have one ${type}${id ? ` named ${id}…` : ''}; found ${found.join(', ') || 'none'}.`,
    );
  return name;
}
