import type { Statement } from './policy.ts';
import type { Resource, Template } from './resolve.ts';

interface PolicyProperties {
  readonly PolicyDocument: { readonly Statement: readonly Statement[] };
  readonly Roles: readonly { readonly Ref: string }[];
}

/** A template in which the role of a construct has lost an action, wherever it was allowed. */
export function without(label: string, action: string) {
  return (template: Template): Template => {
    let lost = 0;
    const cut = (each: Statement): readonly Statement[] => {
      const actions = [each.Action].flat();
      const left = actions.filter((one) => one !== action);
      lost += actions.length - left.length;
      return left.length > 0 ? [{ ...each, Action: left }] : [];
    };
    const edited = ([id, resource]: [string, Resource]): [string, Resource] => {
      const { PolicyDocument, Roles } = resource.Properties as unknown as PolicyProperties;
      if (
        resource.Type !== 'AWS::IAM::Policy' ||
        !Roles.some(({ Ref }) => pathOf(template, Ref).endsWith(`/${label}Role`))
      )
        return [id, resource];
      const document = { ...PolicyDocument, Statement: PolicyDocument.Statement.flatMap(cut) };
      return [id, { ...resource, Properties: { ...resource.Properties, PolicyDocument: document } }];
    };
    const Resources = Object.fromEntries(Object.entries(template.Resources).map(edited));
    if (lost === 0) throw new Error(`The role of ${label} is not allowed ${action} anyway.`);
    return { ...template, Resources };
  };
}

const pathOf = ({ Resources }: Template, id: string): string =>
  String(Resources[id]?.Metadata?.['aws:cdk:path']).replace(/\/Resource$/, '');
