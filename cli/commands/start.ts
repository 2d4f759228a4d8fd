import { omitUndefined } from '../../lambda/core/omit-undefined.ts';
import type { CommonOptions, Session } from '../session.ts';
import type { TargetOptions } from '../target/resolve-target.ts';
import { bold, dim, styled } from '../terminal/line.ts';
import { shellQuote } from '../terminal/shell-quote.ts';
import { statusText } from '../terminal/status-style.ts';
import { actingPerson } from './input/acting-person.ts';
import { jsonArgument } from './input/json-argument.ts';
import { printResult } from './output/print-result.ts';
import { warnIfNoServer } from './output/warn-if-no-server.ts';

export interface StartOptions extends CommonOptions {
  readonly input?: string;
  readonly id?: string;
  readonly key?: string;
  readonly owner?: string;
  readonly as?: string;
  readonly tag?: readonly string[];
  readonly timeout?: number;
  readonly retention?: number;
}

/** Starts a run and prints its id. */
export async function start(
  session: Session,
  { agent, given }: { readonly agent: string; readonly given: string | undefined },
  options: StartOptions,
): Promise<void> {
  const input = await jsonArgument(session.terminal, 'input', given, options.input);
  const { id, key, owner, tag: tags, timeout, retention } = options;
  const requestedBy = actingPerson(session, options.as);
  const target = await session.openTarget({ createIfMissing: true });
  const started = await target.operator.start({
    agent,
    ...omitUndefined({ input, id, key, owner, requestedBy, tags }),
    ...(timeout !== undefined && { timeout: { milliseconds: timeout } }),
    ...(retention !== undefined && { retention: { milliseconds: retention } }),
  });
  const { run, status, isNew } = started;
  await printResult(session, started, () => [
    isNew
      ? [styled('green', '✓ '), 'Started ', bold(run)]
      : [styled('yellow', '= '), 'This run already exists: ', bold(run), '  ', statusText(status)],
  ]);
  if (isNew) await warnIfNoServer(session, target, agent);
  if (!session.isJson)
    session.terminal.printErr(
      dim(`Run "waitstate show ${shellQuote(run)}${targetFlags(session.targetOptions)}" to see its progress.`),
    );
}

/** The target options, as on the command line. */
const targetFlags = ({ folder, stack, region, profile, tenant }: TargetOptions): string =>
  Object.entries(omitUndefined({ stack, folder, region, profile, tenant }))
    .map(([name, value]) => ` --${name} ${shellQuote(value)}`)
    .join('');
