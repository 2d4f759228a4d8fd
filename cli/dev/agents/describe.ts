// Describes the agent files in its arguments, one after the other, in a separate process.
import { existsSync, realpathSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { encode, type TypeCodecs } from '../../../lambda/checkpoints/engine.ts';
import { omitUndefined } from '../../../lambda/core/omit-undefined.ts';
import type { AnyAgent } from '../../../lambda/runtime/agent/agent.ts';
import type { DescribedAgent, DescribedFile } from '../processes/messages.ts';
import { attachToServer, sendToServer } from '../processes/send-to-server.ts';
import { suppressModuleTypeWarnings } from '../processes/suppress-warnings.ts';
import { registerWaitstateResolver } from './find-waitstate.ts';
import { loadAgents } from './load-agents.ts';
import { toLoadProblem } from './load-problem.ts';
import { findPackageJson } from './nearest-package.ts';

const imports = registerWaitstateResolver();

async function describe(file: string): Promise<DescribedFile> {
  try {
    const agents = await loadAgents(file);
    return { file, agents: await Promise.all([...agents.values()].map(describeAgent)), imports: importsOf(file) };
  } catch (error) {
    return { file, agents: [], imports: importsOf(file), problem: toLoadProblem(file, error) };
  }
}

/** The files that a file imports, and their package.json files, which define the module type and the dependencies. */
function importsOf(file: string): readonly string[] {
  // Modules are tracked by their real paths; resolve symbolic links first.
  const found = existsSync(file) ? imports.filesImportedBy(pathToFileURL(realpathSync(file))) : [file];
  return [...new Set([...found, ...found.flatMap((each) => findPackageJson(each) ?? [])])];
}

async function describeAgent(agent: AnyAgent): Promise<DescribedAgent> {
  const { name, description, notifier, runtime } = agent;
  const { tenant, keys, types } = await runtime.contexts.forTenant();
  return {
    name,
    tenant,
    hasNotifyHook: notifier !== undefined,
    encryptsRuns: keys !== undefined,
    ...omitUndefined({ description }),
    ...(await describeExample(agent, types)),
  };
}

/** The example input of an agent as a document, in the form that a start takes; or why it is no valid input. */
async function describeExample(
  { example, parseInput }: AnyAgent,
  types: TypeCodecs | undefined,
): Promise<Pick<DescribedAgent, 'example' | 'exampleProblem'>> {
  if (example === undefined) return {};
  try {
    const document = encode(example, { root: 'example', types });
    await parseInput(example);
    return { example: document };
  } catch (error) {
    return { exampleProblem: error instanceof Error ? error.message : String(error) };
  }
}

suppressModuleTypeWarnings();
attachToServer();
for (const file of process.argv.slice(2)) {
  await sendToServer({ waitstate: 'loading', file });
  await sendToServer({ waitstate: 'described', described: await describe(file) });
}
process.exit();
