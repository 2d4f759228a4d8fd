import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, type AppProps, CfnElement, type Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { afterAll } from 'vitest';

type Properties = Readonly<Record<string, unknown>>;

/** A resource of a template; `name` is its path below the Waitstate, or below the stack. */
export interface Resource<P = Properties> {
  readonly id: string;
  readonly name: string;
  readonly Type: string;
  readonly Properties: P;
  readonly DependsOn?: readonly string[];
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
}

const folders: string[] = [];

afterAll(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** A temporary folder that is removed after the tests of a file. */
export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'waitstate-infra-'));
  folders.push(folder);
  return folder;
}

/** The feature flags of cdk.json. */
const FLAGS = (JSON.parse(readFileSync(new URL('../../cdk.json', import.meta.url), 'utf8')) as { context: Properties })
  .context;

/** An app without bundling, validation and debug information, so that synthesis is fast; tests turn on what they need. */
export const testApp = (props: AppProps = {}): App =>
  new App({
    outdir: freshFolder(),
    analyticsReporting: false,
    treeMetadata: false,
    stackTraces: false,
    builtinCloudFormationValidation: false,
    ...props,
    context: { ...FLAGS, 'aws:cdk:bundling-stacks': [], ...props.context },
  });

/** The template of a stack, with the names of its constructs. */
export class StackTemplate {
  readonly template: { readonly Resources: Readonly<Record<string, Resource>>; readonly Outputs?: Properties };
  readonly #names: ReadonlyMap<string, string>;

  constructor(stack: Stack) {
    this.template = Template.fromStack(stack).toJSON() as StackTemplate['template'];
    const elements = stack.node.findAll().filter((each) => CfnElement.isCfnElement(each));
    this.#names = new Map(
      elements.map((each) => [String(stack.resolve(each.logicalId)), nameOf(stack, each.node.path)]),
    );
  }

  /** All resources of a type. */
  all<P = Properties>(type: string): readonly Resource<P>[] {
    return Object.entries(this.template.Resources)
      .filter(([, { Type }]) => Type === type)
      .map(([id, resource]) => ({ ...resource, id, name: this.name(id) }) as Resource<P>);
  }

  /** The only resource of a type, or the one with this name. */
  one<P = Properties>(type: string, name?: string): Resource<P> {
    const found = this.all<P>(type).filter((each) => name === undefined || each.name === name);
    const [only] = found;
    if (!only || found.length > 1)
      throw new Error(`Expected one ${type} ${name ?? ''}; found ${this.all(type).map((each) => each.name)}.`);
    return only;
  }

  /** The name of a construct in tests. */
  name(logicalId: string): string {
    return this.#names.get(logicalId) ?? logicalId;
  }

  /** A template value as text, for example `<Table.Arn>/index/due`. */
  text(value: unknown): string {
    if (typeof value !== 'object' || value === null) return String(value);
    const [[kind, of] = ['', undefined]] = Object.entries(value);
    if (kind === 'Ref') return `<${this.name(String(of))}>`;
    if (kind === 'Fn::GetAtt' && Array.isArray(of)) return `<${this.name(String(of[0]))}.${of[1]}>`;
    if (kind === 'Fn::Join' && Array.isArray(of))
      return (of[1] as unknown[]).map((each) => this.text(each)).join(of[0]);
    return JSON.stringify(value);
  }

  /** A template value with each reference as text. */
  plain(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((each) => this.plain(each));
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value);
    if (entries.length === 1 && /^(Ref|Fn::\w+)$/.test(entries[0]?.[0] ?? '')) return this.text(value);
    return Object.fromEntries(entries.map(([key, each]) => [key, this.plain(each)]));
  }
}

function nameOf(stack: Stack, path: string): string {
  return path
    .slice(stack.node.path.length + 1)
    .replace(/^Waitstate\//, '')
    .replace(/\/Resource$/, '');
}
