import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ExampleStack } from '../../infra/example-stack.ts';
import { NotAvailableError } from '../not-available.ts';
import { installCfnLint } from './cfn-lint/install.ts';
import { allOptions, existingResources, grantAll, stackOf, withAgents } from './stacks.ts';
import { freshFolder, StackTemplate, testApp } from './template.ts';

/** Rules that are wrong for us, and why. */
const IGNORED: Readonly<Record<string, string>> = {
  W3005: 'CDK lets a function depend on its role twice, which changes nothing.',
};

const TIMEOUT_MS = 600_000;

function tryInstall(): string | undefined {
  try {
    return installCfnLint();
  } catch (error) {
    if (!(error instanceof NotAvailableError)) throw error;
    console.log(`SKIPPED: cfn-lint. It needs Python 3 with pip and venv. ${error.message}`);
    return undefined;
  }
}

const program = tryInstall();

/** What cfn-lint finds in templates, by file. */
function findingsIn(templates: Readonly<Record<string, object>>): readonly string[] {
  const folder = freshFolder();
  const files = Object.entries(templates).map(([name, template]) => {
    const file = join(folder, `${name}.json`);
    writeFileSync(file, JSON.stringify(template));
    return file;
  });
  const ignored = Object.keys(IGNORED).flatMap((rule) => ['--ignore-checks', rule]);
  const args = ['--format', 'json', '--regions', 'eu-central-1', ...ignored, '--', ...files];
  const { stdout, stderr } = spawnSync(program ?? '', args, { encoding: 'utf8' });
  if (!stdout.startsWith('[')) throw new Error(`cfn-lint failed: ${stderr}`);
  const found = JSON.parse(stdout) as readonly {
    readonly Rule: { readonly Id: string };
    readonly Message: string;
    readonly Location: { readonly Path: readonly unknown[] | null };
    readonly Filename: string;
  }[];
  return found.map(
    ({ Rule, Message, Location, Filename }) =>
      `${Filename.slice(folder.length + 1)} ${Rule.Id} at ${Location.Path?.join('.')}: ${Message}`,
  );
}

describe.skipIf(program === undefined)('cfn-lint', () => {
  it(
    'finds nothing in any template',
    () => {
      const [plain, options, existing] = [stackOf(), stackOf(), stackOf()];
      grantAll(withAgents(plain), plain);
      withAgents(options, allOptions(options));
      withAgents(existing, existingResources(existing));
      const example = { email: 'ops@example.com', operators: 'Admin', model: 'eu.example.model', disposable: true };
      const app = new ExampleStack(testApp(), 'Waitstate', example);
      const templates = Object.entries({ plain, options, existing, app }).map(([name, stack]) => [
        name,
        new StackTemplate(stack).template,
      ]);
      expect(findingsIn(Object.fromEntries(templates))).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'finds a policy that allows an unknown effect',
    () => {
      const stack = stackOf();
      withAgents(stack, {}, []);
      const { template } = new StackTemplate(stack);
      const text = JSON.stringify(template).replace('"Effect":"Allow"', '"Effect":"Permit"');
      expect(findingsIn({ broken: JSON.parse(text) })).toEqual([expect.stringContaining("'Permit' is not one of")]);
    },
    TIMEOUT_MS,
  );
});
