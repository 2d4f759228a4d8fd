// One invocation of an agent in a separate process: loads the agent file, claims the run, executes it, exits.
import { pathToFileURL } from 'node:url';
import { WaitstateError } from '../../../lambda/core/errors.ts';
import type { AnyAgent } from '../../../lambda/runtime/agent/agent.ts';
import { registerWaitstateResolver } from '../agents/find-waitstate.ts';
import { loadAgents } from '../agents/load-agents.ts';
import { toLoadProblem } from '../agents/load-problem.ts';
import { parseJob } from './job.ts';
import type { InvocationReport } from './messages.ts';
import { attachToServer, sendToServer } from './send-to-server.ts';
import { suppressModuleTypeWarnings } from './suppress-warnings.ts';

const job = parseJob(process.argv.slice(2));
let steps = 0;
const startedSteps = new Set<string>();

async function load(): Promise<AnyAgent | undefined> {
  registerWaitstateResolver(pathToFileURL(job.file));
  try {
    const agents = await loadAgents(job.file);
    const agent = agents.get(job.agent);
    if (!agent) throw new WaitstateError('AGENT_NOT_FOUND', `The file no longer exports agent "${job.agent}".`);
    // From the agent's copy of Waitstate, not the command's.
    const { embeddedStorage } = await import('waitstate/embedded');
    return agent.with({
      storage: embeddedStorage({ folder: job.folder }),
      // Runs that are started by the CLI or the API are not encrypted: those have no keys.
      acceptUnencrypted: true,
      approvalUrl: job.approvalUrl,
      deliver: (delivery) => sendToServer({ waitstate: 'deliver', delivery }),
      log(level, message, fields) {
        // The server's log already shows the run.
        const details = JSON.stringify({ ...fields, run: undefined, agent: undefined, tenant: undefined });
        console[level](message, ...(details === '{}' ? [] : [details]));
      },
      probe: (moment, _run, step) => {
        if (moment === 'recorded') steps += 1;
        if (moment === 'before' && startedSteps.has(step)) void sendToServer({ waitstate: 'stepRetried', step });
        if (moment === 'before') startedSteps.add(step);
        return undefined;
      },
    });
  } catch (error) {
    await sendToServer({ waitstate: 'loadFailed', problem: toLoadProblem(job.file, error) });
    return undefined;
  }
}

/** Claims the run and executes it until it ends, suspends or yields. */
async function invoke(agent: AnyAgent): Promise<InvocationReport> {
  const { tenant, run, by, until, leaseMs } = job;
  const end = await agent.invoke({ tenant, run }, { by, until, lease: { milliseconds: leaseMs } });
  return end.end === 'failed' ? { end: 'failed', error: String(end.error) } : end;
}

/** Notifies approvers through the agent's hook, and sends the links to the server. */
async function notify({ runtime, notifier }: AnyAgent, approval: string): Promise<InvocationReport> {
  if (!notifier) return { end: 'notified' };
  const [{ withTenant }, { findApproval }, { createNotification }] = await Promise.all([
    import('../../../lambda/checkpoints/engine.ts'),
    import('../../../lambda/runtime/approvals/find-approval.ts'),
    import('../../../lambda/runtime/approvals/notification.ts'),
  ]);
  const context = await withTenant(runtime.contexts, job.tenant).forRun(job.run);
  const notification = await createNotification(await findApproval(context, approval), notifier);
  await sendToServer({ waitstate: 'notification', notification });
  await notifier.notify(notification);
  return { end: 'notified' };
}

suppressModuleTypeWarnings();
attachToServer();
const agent = await load();
if (agent) {
  const { approval } = job;
  const pending = approval === undefined ? invoke(agent) : notify(agent, approval);
  const report = await pending.catch((error): InvocationReport => ({ end: 'failed', error: String(error) }));
  await sendToServer({ waitstate: 'ended', ended: report, steps });
}
process.exit();
