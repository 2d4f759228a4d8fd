import { Annotations } from 'aws-cdk-lib';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import type { IFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { type AgentFunction, formatAgents } from '../lambda/handlers/agents.ts';
import type { EntryAgentProps } from './entry-function.ts';

/** An agent by a function that is there. */
export interface FunctionAgentProps {
  /** Give it minutes: what takes longer than its timeout is begun again. */
  readonly function: IFunction;
  readonly entry?: never;
  /** Whether it gets its runs claimed and loaded, as agents in other languages do. @default false: it is of `agent.handler()` */
  readonly hydrate?: boolean;
  /** The only tenant whose runs it may touch. @default those of the Waitstate */
  readonly tenant?: string;
}

export type AgentProps = EntryAgentProps | FunctionAgentProps;

/** The agents of a Waitstate, by their names. */
export class AgentRegistry {
  readonly #byName = new Map<string, AgentFunction>();

  /** Refuses a name that is taken. */
  checkName(path: string, name: string): void {
    if (this.#byName.has(name))
      throw new Error(`${path}: there is an agent "${name}" already. Each has a name of its own.`);
  }

  add(name: string, fn: IFunction, { hydrate, tenants }: Omit<AgentFunction, 'function'>): void {
    // What is deployed elsewhere may be of another account or region.
    const known = 'addEnvironment' in fn ? fn.functionName : fn.functionArn;
    this.#byName.set(name, { function: known, hydrate, tenants });
  }

  /** As the handlers read them. */
  toJson(): string {
    return formatAgents(this.#byName);
  }
}

/** Warns of a function that Lambda would stop before an agent has done much: the default is three seconds. */
export function warnIfTimeoutTooShort(scope: Construct, fn: IFunction): void {
  const { timeout } = fn as Partial<LambdaFunction>;
  const isMade = 'addEnvironment' in fn;
  if (!isMade || (timeout?.toSeconds() ?? 3) >= 60) return;
  Annotations.of(scope).addWarningV2(
    'waitstate:timeout',
    `${fn.node.path} is stopped after ${timeout?.toSeconds() ?? 3} seconds; what takes longer is begun again. Give an agent minutes.`,
  );
}

/** Lets somebody invoke a function: it alone, and none of its versions. */
export function grantInvoke(grantee: IGrantable, fn: IFunction): void {
  Grant.addToPrincipal({ grantee, actions: ['lambda:InvokeFunction'], resourceArns: [fn.functionArn] });
}
