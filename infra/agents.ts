import { Annotations } from 'aws-cdk-lib';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import type { IFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { omitUndefined } from '../lambda/core/omit-undefined.ts';
import { type AgentFunction, type AgentTarget, formatAgents, type WorkerAgent } from '../lambda/handlers/agents.ts';
import type { EntryAgentProps } from './entry-function.ts';

/** An agent that an existing function runs. */
export interface FunctionAgentProps {
  /** Give it a timeout of minutes: a step that takes longer than the timeout starts again. */
  readonly function: IFunction;
  readonly entry?: never;
  /**
   * Whether `resume` claims and hydrates its runs, which agents in other languages need.
   * @default false: the function exports `agent.handler()`
   */
  readonly hydrate?: boolean;
  /** The only tenant whose runs it may access. @default the tenants of the Waitstate */
  readonly tenant?: string;
}

/** An agent in any language whose runs workers claim with the HTTP API, such as containers. */
export interface WorkerAgentProps {
  /** A function that sends the approval links to the approvers. @default approvers get no links */
  readonly notify?: IFunction;
  /** The only tenant that can start it. @default the tenants of the Waitstate */
  readonly tenant?: string;
}

export type AgentProps = EntryAgentProps | FunctionAgentProps;

/** The agents of a Waitstate by name. */
export class AgentRegistry {
  readonly #byName = new Map<string, AgentTarget>();

  /** Throws if another agent has this name. */
  checkName(path: string, name: string): void {
    if (this.#byName.has(name))
      throw new Error(`${path}: an agent named "${name}" already exists. Give each agent a different name.`);
  }

  add(name: string, fn: IFunction, { hydrate, tenants }: Omit<AgentFunction, 'function'>): void {
    this.#byName.set(name, { function: nameOrArn(fn), hydrate, tenants });
  }

  addWorkers(name: string, notify: IFunction | undefined, { tenants }: Pick<WorkerAgent, 'tenants'>): void {
    this.#byName.set(name, { worker: true, ...omitUndefined({ notify: notify && nameOrArn(notify), tenants }) });
  }

  /** The value of `WAITSTATE_AGENTS`. */
  toJson(): string {
    return formatAgents(this.#byName);
  }
}

/** An imported function may be in another account or region, so only its ARN identifies it. */
const nameOrArn = (fn: IFunction): string => ('addEnvironment' in fn ? fn.functionName : fn.functionArn);

/** Warns about a timeout below a minute; the default of Lambda is three seconds. */
export function warnIfTimeoutTooShort(scope: Construct, fn: IFunction): void {
  const { timeout } = fn as Partial<LambdaFunction>;
  const isImported = !('addEnvironment' in fn);
  if (isImported || (timeout?.toSeconds() ?? 3) >= 60) return;
  Annotations.of(scope).addWarningV2(
    'waitstate:timeout',
    `${fn.node.path} times out after ${timeout?.toSeconds() ?? 3} seconds, so a step that takes longer never completes. Give the function of an agent a timeout of several minutes.`,
  );
}

/** Grants permission to invoke a function, without its versions and aliases. */
export function grantInvoke(grantee: IGrantable, fn: IFunction): void {
  Grant.addToPrincipal({ grantee, actions: ['lambda:InvokeFunction'], resourceArns: [fn.functionArn] });
}
