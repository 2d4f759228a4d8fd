/** The task of one agent process: execute a run, or notify the approvers of an approval. */
export interface Job {
  readonly file: string;
  readonly agent: string;
  readonly tenant: string;
  readonly run: string;
  /** The approval whose approvers are notified; without it, the run is executed. */
  readonly approval?: string;
  readonly folder: string;
  /** The start of approval links. */
  readonly approvalUrl: string;
  /** The claimant of the run, when the invocation must end, and the duration of its lease. */
  readonly by: string;
  readonly until: number;
  readonly leaseMs: number;
}

/** A job as process arguments; agent and run come first, so that a process list shows them. */
export const toArguments = (job: Job): readonly string[] => [
  withoutNulBytes(job.agent),
  withoutNulBytes(job.run),
  JSON.stringify(job),
];

// A NUL byte ends an argument, and an id may contain one.
const withoutNulBytes = (id: string): string => id.replaceAll('\0', ' ');

export const parseJob = ([, , text = '']: readonly string[]): Job => JSON.parse(text) as Job;
