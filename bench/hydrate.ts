import { zstdCompressSync } from 'node:zlib';
import { bytesRead, countsSince, dynamoRequests, s3Requests } from './counts.ts';
import type { OpenStore } from './systems.ts';
import { formatBytes, formatTable, print } from './table.ts';
import type { Wire } from './wire.ts';
import { RUN } from './works.ts';

/** The cost of loading one version of a run in a new process. */
export interface HydrateCost {
  readonly steps: number;
  readonly version: number;
  readonly isNewest: boolean;
  readonly dynamoRequests: number;
  readonly readUnits: number;
  readonly s3Requests: number;
  readonly bytesRead: number;
  /** The size of the state as JSON, and compressed: the least that any store must read. */
  readonly stateBytes: number;
  readonly neededBytes: number;
}

const OLD_VERSIONS = 12;

/** Loads the newest version and old versions spread over the history. */
export async function hydrate(wire: Wire, open: OpenStore, steps: number): Promise<readonly HydrateCost[]> {
  const old = Array.from({ length: OLD_VERSIONS }, (_, at) =>
    Math.max(1, Math.floor((steps * (at + 0.5)) / OLD_VERSIONS)),
  );
  const found: HydrateCost[] = [];
  for (const version of [undefined, ...new Set(old)]) {
    const before = await wire.counts();
    const loaded = await open().load(RUN, version);
    const counts = countsSince(before, await wire.counts());
    const text = Buffer.from(JSON.stringify(loaded.state));
    found.push({
      steps,
      version: loaded.version,
      isNewest: version === undefined,
      dynamoRequests: dynamoRequests(counts),
      readUnits: counts.readUnits,
      s3Requests: s3Requests(counts),
      bytesRead: bytesRead(counts),
      stateBytes: text.length,
      neededBytes: zstdCompressSync(text).length,
    });
  }
  return found;
}

/** The largest value among several loads. */
export const worst = (loads: readonly HydrateCost[], of: (each: HydrateCost) => number): number =>
  Math.max(...loads.map(of));

export const readRatio = ({ bytesRead, neededBytes }: HydrateCost): number => bytesRead / neededBytes;

export function printHydrate(work: string, hydrated: readonly HydrateCost[]): void {
  const rows = [...new Set(hydrated.map(({ steps }) => steps))].flatMap((steps) => {
    const loads = hydrated.filter((each) => each.steps === steps);
    return [true, false].map((newest) => {
      const group = loads.filter((each) => each.isNewest === newest);
      const heaviest = group.toSorted((a, b) => readRatio(b) - readRatio(a))[0];
      return [
        steps,
        newest ? 'newest' : `${group.length} old versions, worst`,
        worst(group, (each) => each.dynamoRequests),
        worst(group, (each) => each.readUnits),
        worst(group, (each) => each.s3Requests),
        formatBytes(heaviest?.bytesRead ?? 0),
        formatBytes(heaviest?.stateBytes ?? 0),
        formatBytes(heaviest?.neededBytes ?? 0),
        worst(group, readRatio),
      ];
    });
  });
  print(
    formatTable(
      `${work}, hydrate: the cost of loading a version in a new process. "needed" is the compressed size of the whole state; bytes are those of the load with the worst ratio.`,
      ['steps', 'version', 'requests', 'read units', 'S3', 'read', 'state', 'needed', 'read/needed'],
      rows,
    ),
  );
}
