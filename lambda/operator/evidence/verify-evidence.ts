import { equal, parse, readCheckpoint, toCheckpointSummary } from '../../checkpoints/engine.ts';
import { WaitstateError } from '../../core/errors.ts';
import { toPartition } from '../../core/ids.ts';
import { versionKey } from '../../storage/keys.ts';
import { EVIDENCE_FORMAT, type Evidence, type EvidenceCheckpoint, sealOf, sha256, statements } from './evidence.ts';

/** The result of checking a bundle. */
export interface EvidenceCheck {
  readonly ok: boolean;
  readonly problems: readonly string[];
  readonly evidence: Evidence;
}

/** The longest text that is checked; a bundle has at most 200 checkpoints. */
export const MAX_EVIDENCE_CHARACTERS = 64 * 1024 * 1024;

/** Checks a bundle without any storage or key. Throws INVALID_INPUT for a text that is no bundle. */
export function verifyEvidence(text: string): EvidenceCheck {
  const evidence = parseEvidence(text);
  const problems = [
    ...(sealOf({ ...evidence }) === evidence.seal ? [] : ['The file was changed: it does not match its seal.']),
    ...checkShown(evidence),
    ...checkStatements(evidence),
    ...evidence.checkpoints.flatMap((each, i) => checkCheckpoint(evidence, each, evidence.checkpoints[i - 1])),
  ];
  return { ok: problems.length === 0, problems, evidence };
}

function checkShown({ shown, request, encrypted }: Evidence): readonly string[] {
  const hash = sha256(shown.text);
  const isDocument = isSame(() => equal(parse(shown.text), shown.document as never));
  return [
    ...(hash === shown.sha256 ? [] : ['What was shown does not match its hash.']),
    // The hash of an encrypted run is an HMAC, which only its key can check.
    ...(encrypted || hash === shown.contentHash ? [] : ['What was shown does not match the hash of the request.']),
    ...(shown.contentHash === request.contentHash ? [] : ['The request has the hash of something else.']),
    ...(isDocument ? [] : ['The document that was shown differs from the stored text.']),
  ];
}

function checkStatements({ encrypted, proves, doesNotProve }: Evidence): readonly string[] {
  const expected = statements(encrypted);
  const isExpected =
    JSON.stringify([proves, doesNotProve]) === JSON.stringify([expected.proves, expected.doesNotProve]);
  return isExpected ? [] : ['The statements about what the file proves are not those of this version of Waitstate.'];
}

function checkCheckpoint(
  { tenant, run }: Evidence,
  given: EvidenceCheckpoint,
  before: EvidenceCheckpoint | undefined,
): readonly string[] {
  const { version, hash, meta, body, pruned } = given;
  const what = `Checkpoint ${version}`;
  const links = [
    ...(before && before.version + 1 !== version ? [`${what} does not follow checkpoint ${before.version}.`] : []),
    ...(before && before.hash !== given.previousHash ? [`${what} is not linked to checkpoint ${before.version}.`] : []),
  ];
  try {
    const stored = {
      partition: toPartition(tenant, run),
      key: versionKey(version),
      revision: pruned ? `${hash}~` : hash,
      meta,
      ...(body !== undefined && { body: Buffer.from(body, 'base64') }),
    };
    const { savedAt, ...read } = toCheckpointSummary(run, readCheckpoint(stored));
    const isRead =
      read.previousHash === given.previousHash &&
      savedAt.toISOString() === given.savedAt &&
      read.status === given.status &&
      read.step === given.step &&
      (body === undefined || Buffer.from(body, 'base64').toString('base64') === body) &&
      read.pruned === pruned;
    return isRead ? links : [...links, `${what} differs from its stored metadata.`];
  } catch (error) {
    return [...links, `${what} is damaged: ${error instanceof Error ? error.message : String(error)}`];
  }
}

function isSame(check: () => boolean): boolean {
  try {
    return check();
  } catch {
    return false;
  }
}

function parseEvidence(text: string): Evidence {
  if (text.length > MAX_EVIDENCE_CHARACTERS)
    throw noEvidence(`at most ${MAX_EVIDENCE_CHARACTERS} characters long`, `${text.length} characters`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw noEvidence('complete JSON', `a text that is cut off or malformed (${(cause as Error).message})`, cause);
  }
  const found = Object(value) as Readonly<Record<string, unknown>>;
  if (found.format !== EVIDENCE_FORMAT) throw noEvidence(`of the format "${EVIDENCE_FORMAT}"`, `"${found.format}"`);
  const wrong = Object.entries(CHECKS).find(([field, is]) => !is(found[field]))?.[0];
  if (wrong !== undefined) throw noEvidence(`a bundle with a valid field "${wrong}"`, typeof found[wrong]);
  return found as unknown as Evidence;
}

type Check = (value: unknown) => boolean;
const isText: Check = (value) => typeof value === 'string';
const isFlag: Check = (value) => typeof value === 'boolean';
const isObject: Check = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isListOf =
  (is: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(is);
const hasFields =
  (checks: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isObject(value) && Object.entries(checks).every(([field, is]) => is((value as Record<string, unknown>)[field]));

const CHECKS: Readonly<Record<string, Check>> = {
  createdAt: isText,
  tenant: isText,
  run: isText,
  approval: isText,
  encrypted: isFlag,
  proves: isListOf(isText),
  doesNotProve: isListOf(isText),
  shown: hasFields({ text: isText, sha256: isText, contentHash: isText }),
  request: isObject,
  votes: isListOf(isObject),
  checkpoints: isListOf(
    hasFields({
      version: Number.isSafeInteger,
      hash: isText,
      meta: isText,
      savedAt: isText,
      status: isText,
      pruned: isFlag,
    }),
  ),
  hasMore: isFlag,
  seal: isText,
};

const noEvidence = (expected: string, found: string, cause?: unknown): WaitstateError =>
  new WaitstateError(
    'INVALID_INPUT',
    `An evidence file must be ${expected}; found ${found}. Create it again with "waitstate evidence RUN APPROVAL".`,
    { cause },
  );
