import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { WaitstateError } from '../../lambda/core/errors.ts';
import type { Evidence } from '../../lambda/operator/evidence/evidence.ts';
import { MAX_EVIDENCE_CHARACTERS, verifyEvidence } from '../../lambda/operator/evidence/verify-evidence.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { CommonOptions, Session } from '../session.ts';
import { bold, dim, type Line, styled } from '../terminal/line.ts';
import { pluralize, printResult } from './output/print-result.ts';

export interface EvidenceOptions extends CommonOptions {
  readonly out?: string;
  readonly verify?: string;
}

/** Writes the evidence of an approval, or checks a file with evidence, which needs no storage. */
export async function evidence(
  session: Session,
  { run, approval }: { readonly run: string | undefined; readonly approval: string | undefined },
  { out, verify }: EvidenceOptions,
): Promise<ExitCode> {
  if (verify !== undefined && run === undefined) return checkFile(session, verify);
  if (run === undefined || approval === undefined || verify !== undefined)
    throw new WaitstateError(
      'INVALID_INPUT',
      'Name a run and its approval ("waitstate evidence RUN APPROVAL"), or check a file ("waitstate evidence --verify FILE").',
    );
  const { terminal } = session;
  const { operator } = await session.openTarget();
  const bundle = await operator.evidence(run, approval);
  if (bundle.encrypted)
    terminal.printErr([
      styled('yellow', '! '),
      'The run is encrypted, and this file has decrypted content. Keep it secret.',
    ]);
  const text = `${JSON.stringify(bundle, undefined, 2)}\n`;
  if (out === undefined) await terminal.write(text);
  else {
    // Readable by its owner only, and never over another file.
    writeNewFile(out, text);
    await printResult(session, { file: out, run, approval, seal: bundle.seal }, () => [
      [styled('green', '✓ '), 'Evidence of ', bold(approval), ' is in ', bold(out), `, with seal ${bundle.seal}`],
    ]);
  }
  return EXIT.ok;
}

function writeNewFile(file: string, text: string): void {
  try {
    writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
  } catch (cause) {
    throw new WaitstateError('INVALID_INPUT', `${file} cannot be created: ${(cause as Error).message}`, { cause });
  }
}

async function checkFile(session: Session, file: string): Promise<ExitCode> {
  const { ok, problems, evidence: bundle } = verifyEvidence(readText(file));
  const { run, approval, tenant, seal, votes, checkpoints, encrypted, proves, doesNotProve, hasMore } = bundle;
  const result = {
    ok,
    problems,
    tenant,
    run,
    approval,
    seal,
    checkpoints: checkpoints.length,
    encrypted,
    proves,
    doesNotProve,
  };
  await printResult(session, result, () => [
    ok
      ? [
          styled('green', '✓ '),
          bold(approval),
          ` of run "${run}": intact, with ${pluralize(checkpoints.length, 'linked checkpoint')}`,
        ]
      : [styled('red', '✗ '), bold(approval), ` of run "${run}": ${pluralize(problems.length, 'problem')}`],
    ...problems.map((problem): Line => ['  ', problem]),
    ...votes.map((vote): Line => ['  ', describeVote(vote)]),
    ...(hasMore ? ['  Later checkpoints were left out.'] : []),
    'It proves:',
    ...proves.map((text): Line => dim(`- ${text}`)),
    'It does not prove:',
    ...doesNotProve.map((text): Line => dim(`- ${text}`)),
  ]);
  return ok ? EXIT.ok : EXIT.damaged;
}

const describeVote = ({ by, through, answer, at }: Evidence['votes'][number]): string => {
  const time =
    typeof at === 'number' && Number.isFinite(new Date(at).getTime()) ? new Date(at).toISOString() : String(at);
  return `${by} voted "${answer}" at ${time}${through === by ? '' : `, as a member of ${through}`}`;
};

function readText(file: string): string {
  try {
    if (statSync(file).size > MAX_EVIDENCE_CHARACTERS * 2)
      throw new WaitstateError('INVALID_INPUT', `${file} is too large for an evidence file.`);
    return readFileSync(file, 'utf8');
  } catch (cause) {
    if (cause instanceof WaitstateError) throw cause;
    throw new WaitstateError('INVALID_INPUT', `${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
}
