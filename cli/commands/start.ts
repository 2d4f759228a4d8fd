import { omitUndefined } from '../../lambda/core/omit-undefined.ts';
import type { StartedRun } from '../../lambda/runtime/control/start-run.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { CommonOptions, Session } from '../session.ts';
import type { TargetOptions } from '../target/resolve-target.ts';
import type { Target } from '../target/target.ts';
import { bold, dim, styled } from '../terminal/line.ts';
import { shellQuote } from '../terminal/shell-quote.ts';
import { statusText } from '../terminal/status-style.ts';
import { followRun } from './follow/follow-run.ts';
import { createDescriber } from './follow/logs.ts';
import { actingPerson } from './input/acting-person.ts';
import { jsonArgument } from './input/json-argument.ts';
import { printResult, printVerbatim } from './output/print-result.ts';
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
  readonly wait?: boolean;
}

/** Starts a run and prints its id; with `--wait`, its result when it has ended. */
export async function start(
  session: Session,
  { agent, given }: { readonly agent: string; readonly given: string | undefined },
  options: StartOptions,
): Promise<ExitCode> {
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
  if (options.wait) return waitForEnd(session, target, agent, started);
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
  return EXIT.ok;
}

/** Waits until a run has ended, shows its progress on standard error, and prints its result or error. */
async function waitForEnd(
  session: Session,
  target: Target,
  agent: string,
  { run, isNew }: StartedRun,
): Promise<ExitCode> {
  const { terminal, isJson } = session;
  if (!isJson)
    terminal.printErr([styled('green', isNew ? '✓ ' : '= '), isNew ? 'Started ' : 'Waiting for ', bold(run)]);
  if (isNew) await warnIfNoServer(session, target, agent);
  const describe = createDescriber();
  for await (const events of followRun(target, run, { follow: true }))
    if (!isJson) terminal.printErr(...events.flatMap((event) => describe(event, terminal.now())));
  const { status, result, error } = await target.operator.run(run);
  const { message } = error ?? {};
  await printVerbatim(session, { run, status, isNew, ...omitUndefined({ result, error }) }, () =>
    status === 'SUCCEEDED'
      ? JSON.stringify(result ?? null, undefined, 2).split('\n')
      : [[statusText(status), message === undefined ? '' : `  ${message}`]],
  );
  return status === 'SUCCEEDED' ? EXIT.ok : EXIT.failed;
}

/** The target options, as on the command line. */
const targetFlags = ({ folder, stack, region, profile, tenant }: TargetOptions): string =>
  Object.entries(omitUndefined({ stack, folder, region, profile, tenant }))
    .map(([name, value]) => ` --${name} ${shellQuote(value)}`)
    .join('');
