import { createHash } from 'node:crypto';
import { sortedJson } from '../../core/sorted-json.ts';

/** The value of `format`; a bundle with another one is refused. */
export const EVIDENCE_FORMAT = 'waitstate-evidence/1';

/** A checkpoint of the chain around an approval, as it is stored. Its hash covers all fields but `status` and `step`. */
export interface EvidenceCheckpoint {
  readonly version: number;
  readonly hash: string;
  readonly previousHash?: string;
  readonly savedAt: string;
  readonly status: string;
  readonly step?: string;
  /** The stored metadata and, in base64, the stored content, which is encrypted in an encrypted run. */
  readonly meta: string;
  readonly body?: string;
  /** Whether a prune removed its content, so that its hash can no longer be checked. */
  readonly pruned: boolean;
}

/** What was shown to whom, who decided what, and the checkpoints around it: one file that can be checked offline. */
export interface Evidence {
  readonly format: typeof EVIDENCE_FORMAT;
  readonly createdAt: string;
  readonly tenant: string;
  readonly run: string;
  readonly approval: string;
  readonly agent?: string;
  readonly encrypted: boolean;
  /** In plain words, what the bundle proves and what it does not. */
  readonly proves: readonly string[];
  readonly doesNotProve: readonly string[];
  /** What was shown: the stored text, the same as a document, and its hashes. */
  readonly shown: {
    readonly text: string;
    readonly document: unknown;
    readonly sha256: string;
    /** The hash that decisions refer to: SHA-256 of the text, or an HMAC with the key of an encrypted run. */
    readonly contentHash: string;
  };
  /** The terms of the request and its end, with every recorded field. Times are in milliseconds since 1970. */
  readonly request: Readonly<Record<string, unknown>>;
  /** The decisions, with every recorded field. `by` is the person, and `through` the approver they decided as. */
  readonly votes: readonly Readonly<Record<string, unknown>>[];
  readonly checkpoints: readonly EvidenceCheckpoint[];
  /** Whether later checkpoints of the approval were left out, because there are too many. */
  readonly hasMore: boolean;
  /** SHA-256 of all other fields. */
  readonly seal: string;
}

const PROVES = [
  'The text in "shown" is exactly what the approvers were shown: its hash is the one that decisions refer to.',
  'The checkpoints are linked: each contains the hash of the one before it, and its own hash covers what is stored.',
  'The file matches its seal, so it is unchanged since it was created, unless somebody computed a new seal.',
];

const DOES_NOT_PROVE = [
  'That nobody with write access to the storage replaced records and computed new hashes, or that nobody changed this file and computed a new seal: hashes without a key reveal damage, but not an attacker. Keep the seal elsewhere, or sign the file.',
  'That the named people cast the votes: each vote is recorded as the program that authenticated the voter reported it. The hash chain does not cover the record of an approval.',
  'That pruned checkpoints had a certain content, or what happened outside of these checkpoints.',
];

/** What a bundle proves, in plain words. */
export const statements = (encrypted: boolean): Pick<Evidence, 'proves' | 'doesNotProve'> =>
  encrypted
    ? {
        proves: [
          ...PROVES,
          'The run is encrypted. With its key, these parts were authenticated when this file was created: the text in "shown", and comments, edits and answers to questions of votes. The contents of checkpoints are authenticated with their metadata.',
        ],
        doesNotProve: [
          ...DOES_NOT_PROVE,
          'That the voters, whether they approved, and the times are right: they are neither encrypted nor authenticated. This file contains decrypted content, and checking it offline uses no key.',
        ],
      }
    : { proves: PROVES, doesNotProve: DOES_NOT_PROVE };

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The seal of a bundle: the hash of everything in it but the seal, independent of the order of fields. */
export function sealOf({ seal: _seal, ...rest }: Readonly<Record<string, unknown>>): string {
  return sha256(sortedJson(rest));
}
