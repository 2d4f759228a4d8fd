import type { Statement } from './policy.ts';
import type { Resource, Template } from './resolve.ts';

interface PolicyProperties {
  readonly PolicyDocument: { readonly Statement: readonly Statement[] };
  readonly Roles: readonly { readonly Ref: string }[];
}

/** Removes an action from all policies of a construct's role. */
export function without(label: string, action: string) {
  return (template: Template): Template => {
    let removed = 0;
    const removeAction = (each: Statement): readonly Statement[] => {
      const actions = [each.Action].flat();
      const left = actions.filter((one) => one !== action);
      removed += actions.length - left.length;
      return left.length > 0 ? [{ ...each, Action: left }] : [];
    };
    const edited = ([id, resource]: [string, Resource]): [string, Resource] => {
      const { PolicyDocument, Roles } = resource.Properties as unknown as PolicyProperties;
      if (
        resource.Type !== 'AWS::IAM::Policy' ||
        !Roles.some(({ Ref }) => pathOf(template, Ref).endsWith(`/${label}Role`))
      )
        return [id, resource];
      const document = { ...PolicyDocument, Statement: PolicyDocument.Statement.flatMap(removeAction) };
      return [id, { ...resource, Properties: { ...resource.Properties, PolicyDocument: document } }];
    };
    const Resources = Object.fromEntries(Object.entries(template.Resources).map(edited));
    if (removed === 0) throw new Error(`The role of ${label} must allow ${action} before it can be removed.`);
    return { ...template, Resources };
  };
}

const pathOf = ({ Resources }: Template, id: string): string =>
  String(Resources[id]?.Metadata?.['aws:cdk:path']).replace(/\/Resource$/, '');
