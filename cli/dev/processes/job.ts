/** What one process is for: to run a run of an agent, or to tell people of an approval of it. */
export interface Job {
  readonly file: string;
  readonly agent: string;
  readonly tenant: string;
  readonly run: string;
  /** The approval that people are to be told of. */
  readonly approval?: string;
  readonly folder: string;
  /** What links begin with. */
  readonly approvalUrl: string;
  /** As whom it claims the run, until when it may have it, and for how long at a time. */
  readonly by: string;
  readonly until: number;
  readonly leaseMs: number;
}

/** A job as arguments of a process; the first ones are what a list of processes should show. */
export const toArguments = (job: Job): readonly string[] => [
  withoutNulBytes(job.agent),
  withoutNulBytes(job.run),
  JSON.stringify(job),
];

// An argument ends at a zero, and an id may have one.
const withoutNulBytes = (id: string): string => id.replaceAll('\0', ' ');

export const parseJob = ([, , text = '']: readonly string[]): Job => JSON.parse(text) as Job;
