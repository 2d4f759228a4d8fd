import { bytesWritten, dollars, dynamoRequests, s3Requests } from './counts.ts';
import { countsBetween, type Trace } from './trace.ts';

/** One row of `--json`: what a system used for the first n steps of a workload, summed. */
export interface Row {
  readonly work: string;
  readonly system: string;
  readonly n: number;
  /** DynamoDB requests. */
  readonly requests: number;
  readonly writeUnits: number;
  readonly readUnits: number;
  readonly s3Requests: number;
  /** Bytes written to DynamoDB and S3. */
  readonly bytes: number;
  /** CPU time of the process that does the steps, the SDK included. */
  readonly cpuMsPerStep: number;
  /** Dollars per million steps. */
  readonly usdPerMillion: number;
}

/** The row for the first n steps of a trace. */
export function toRow(work: string, traced: Trace, n: number): Row {
  const counts = countsBetween(traced, 0, n);
  return {
    work,
    system: traced.system,
    n,
    requests: dynamoRequests(counts),
    writeUnits: counts.writeUnits,
    readUnits: counts.readUnits,
    s3Requests: s3Requests(counts),
    bytes: bytesWritten(counts),
    cpuMsPerStep: Number(((traced.cpuMs[n] ?? Number.NaN) / n).toFixed(3)),
    usdPerMillion: Number(((dollars(counts) / n) * 1e6).toFixed(3)),
  };
}
