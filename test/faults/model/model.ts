import { type Duration, toMilliseconds } from '../../../lambda/core/duration.ts';
import type { ErrorCode } from '../../../lambda/core/errors.ts';
import { hasEnded, type Status, TRANSITIONS } from '../../../lambda/core/status.ts';
import { DAY, HOUR } from '../clock.ts';
import type { Plain } from './values.ts';

/** An error that the store must throw too. `or` lists codes that are also right for a store with an outdated cache. */
export class ExpectedError extends Error {
  readonly code: ErrorCode;
  readonly or: readonly ErrorCode[];

  constructor(code: ErrorCode, or: readonly ErrorCode[] = []) {
    super(code);
    this.code = code;
    this.or = or;
  }
}

export interface Fields {
  readonly step?: string;
  readonly status?: Status;
  readonly name?: string;
  readonly moveName?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
  readonly toolResults?: { readonly [id: string]: Plain };
  readonly forgetToolResults?: true;
  readonly model?: { readonly id: string };
  readonly writeId?: string;
  readonly retention?: Duration;
}

export type SaveOf = Fields & { readonly run: string; readonly expectedVersion: number; readonly state?: Plain };
export type CheckpointRef = { readonly version: number } | { readonly name: string };

/** One checkpoint, as a caller sees it, and what undo needs to know. */
export interface Version {
  readonly version: number;
  readonly kind: string;
  readonly status: Status;
  readonly step: string | undefined;
  readonly stepNumber: number;
  readonly name: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly state: Plain | undefined;
  readonly toolResults: { readonly [id: string]: Plain };
  readonly model: { readonly id: string } | undefined;
  readonly restored: number | undefined;
  readonly parent: { readonly run: string; readonly version: number } | undefined;
  readonly time: number;
  /** Only if the caller gave one. */
  readonly writeId: string | undefined;
  /**
   * The change whose content is shown here, what was shown before that change, and the changes that were undone, last
   * first.
   */
  readonly shown: number;
  readonly before: number | undefined;
  readonly undone: readonly number[];
  pruned: boolean;
}

export interface Run {
  readonly id: string;
  readonly versions: Version[];
  readonly names: Map<string, number>;
  retention: number | undefined;
  /** Set when it is deleted: the id stays reserved at least until then. */
  deletedUntil: number | undefined;
}

const newestOf = (run: Run): Version => run.versions.at(-1) as Version;

/** When it can no longer be read. A prune does not renew a run. */
export function expiryOf({ retention, versions }: Run): number {
  const lastUse = versions.findLast(({ kind }) => kind !== 'prune');
  return retention === undefined || !lastUse ? Number.POSITIVE_INFINITY : lastUse.time + retention;
}

/** A checkpoint that a caller has seen: its version and its run, since an id can be used again. */
export interface SeenVersion {
  readonly of: Run;
  readonly version: number;
}

/** The simplest possible checkpoint store: every run is a list of versions with complete values. */
export class Model {
  now: number;
  readonly runs = new Map<string, Run>();

  constructor(now: number) {
    this.now = now;
  }

  /** The run, if it can be read. */
  open(id: string): Run {
    const run = this.runs.get(id);
    if (!run) throw new ExpectedError('RUN_NOT_FOUND');
    if (run.deletedUntil !== undefined) throw new ExpectedError('RUN_DELETED');
    if (this.now >= expiryOf(run)) throw new ExpectedError('RUN_EXPIRED');
    return run;
  }

  load(id: string, checkpoint?: CheckpointRef): Version {
    const run = this.open(id);
    const named = checkpoint && 'name' in checkpoint;
    const number = named ? run.names.get(checkpoint.name) : (checkpoint?.version ?? run.versions.length);
    const found = run.versions[(number ?? 0) - 1];
    if (!found) throw new ExpectedError('CHECKPOINT_NOT_FOUND');
    if (found.pruned) throw new ExpectedError('CHECKPOINT_PRUNED');
    return found;
  }

  save(input: SaveOf, seen?: SeenVersion): Version {
    const { run: id, expectedVersion: expected, writeId } = input;
    const run = this.runs.get(id);
    if (expected === 0) {
      if (!run) return this.#create(id, input);
      if (run.deletedUntil !== undefined) throw new ExpectedError('RUN_DELETED');
      if (writeId !== undefined && run.versions[0]?.writeId === writeId) return this.load(id, { version: 1 });
      this.open(id);
      throw new ExpectedError('STALE_VERSION');
    }
    // A store that has cached the expected version, which is outdated, may reject the save because of that version.
    const known = run?.versions[expected - 1];
    const or: ErrorCode[] = [];
    if (known && input.status && !allowed(known.status, input.status)) or.push('TRANSITION_REFUSED');
    if (known && run.retention !== undefined && known.time + run.retention <= this.now) or.push('RUN_EXPIRED');
    if (!run) throw new ExpectedError('RUN_NOT_FOUND');
    if (run.deletedUntil !== undefined) throw new ExpectedError('RUN_DELETED', or);
    if (expiryOf(run) <= this.now)
      throw new ExpectedError('RUN_EXPIRED', expected < run.versions.length ? [...or, 'STALE_VERSION'] : []);
    if (expected > run.versions.length) throw new ExpectedError('STALE_VERSION');
    if (expected < run.versions.length) {
      if (writeId !== undefined && run.versions[expected]?.writeId === writeId)
        return this.load(id, { version: expected + 1 });
      throw new ExpectedError('STALE_VERSION', or);
    }
    if (seen && seen.of !== run) throw new ExpectedError('STALE_VERSION');
    if (writeId !== undefined && newestOf(run).writeId === writeId) return newestOf(run);
    return this.#saveOn(run, input);
  }

  update(id: string, change: (state: Plain | undefined) => Plain, fields: Fields): Version {
    const run = this.open(id);
    return this.#saveOn(run, { ...fields, state: change(newestOf(run).state) });
  }

  fork(
    id: string,
    to: string,
    checkpoint: CheckpointRef,
    fields: Fields,
    edit: (state: Plain | undefined) => Plain,
  ): Version {
    const source = this.load(id, checkpoint);
    const target = this.runs.get(to);
    if (target) {
      if (target.deletedUntil !== undefined) throw new ExpectedError('RUN_DELETED');
      const own = fields.writeId !== undefined && target.versions[0]?.writeId === fields.writeId;
      if (own) return this.load(to, { version: 1 });
      throw new ExpectedError('RUN_EXISTS');
    }
    const retention = this.open(id).retention;
    const run: Run = { id: to, versions: [], names: new Map(), retention, deletedUntil: undefined };
    this.runs.set(to, run);
    return this.#append(run, {
      ...{ kind: 'fork', parent: { run: id, version: source.version }, state: edit(source.state) },
      ...{ step: source.step, stepNumber: source.stepNumber, model: source.model, toolResults: source.toolResults },
      ...{ status: fields.status ?? 'RUNNING', writeId: fields.writeId },
    });
  }

  rewind(id: string, checkpoint: CheckpointRef): Version {
    const run = this.open(id);
    return this.#restore(run, this.load(id, checkpoint), 'rewind');
  }

  undo(id: string): Version {
    const run = this.open(id);
    const { shown, undone } = newestOf(run);
    const before = run.versions[shown - 1]?.before;
    if (before === undefined || run.versions[before - 1]?.pruned) throw new ExpectedError('NOTHING_TO_UNDO');
    return this.#restore(run, this.load(id, { version: before }), 'undo', [shown, ...undone]);
  }

  redo(id: string): Version {
    const run = this.open(id);
    const [next, ...rest] = newestOf(run).undone;
    if (next === undefined) throw new ExpectedError('NOTHING_TO_REDO');
    return this.#restore(run, this.load(id, { version: next }), 'redo', rest);
  }

  /** The versions that a prune must keep: the last ones and, on request, those with a name. It may keep more. */
  versionsToKeep(id: string, keepLast: number, keepNamed: boolean): readonly number[] {
    const run = this.open(id);
    const last = run.versions.filter(({ kind }) => kind !== 'prune').slice(-keepLast);
    const kept = [...last, newestOf(run)].map(({ version }) => version);
    return [...kept, ...(keepNamed ? run.names.values() : [])].filter((version) => !run.versions[version - 1]?.pruned);
  }

  /** Records a prune. */
  pruned(id: string, versions: readonly number[]): void {
    const run = this.open(id);
    for (const version of versions) (run.versions[version - 1] as Version).pruned = true;
    for (const [name, version] of run.names) if (run.versions[version - 1]?.pruned) run.names.delete(name);
    const { status, step, stepNumber, labels, state, toolResults, model, shown, undone } = newestOf(run);
    this.#append(run, {
      ...{ kind: 'prune', status, step, stepNumber, labels, state, toolResults, model, restored: shown },
      ...{ shown, undone },
    });
  }

  delete(id: string): void {
    const run = this.runs.get(id);
    if (!run) throw new ExpectedError('RUN_NOT_FOUND');
    run.deletedUntil ??= this.now + DAY;
  }

  /**
   * The head of a run may be up to an hour behind its last write, so a sweep in the first hour after the end of a run
   * may or may not find it. Returns the next time at which no run is in that hour.
   */
  nextUnambiguousTime(): number {
    let time = this.now;
    const isAmbiguous = () =>
      [...this.runs.values()]
        .filter(({ deletedUntil }) => deletedUntil === undefined)
        .map(expiryOf)
        .find((end) => end <= time && time < end + HOUR);
    for (let end = isAmbiguous(); end !== undefined; end = isAmbiguous()) time = end + HOUR;
    return time;
  }

  /** The runs that a sweep must remove. */
  expired(): readonly Run[] {
    return [...this.runs.values()].filter((run) => run.deletedUntil === undefined && expiryOf(run) <= this.now);
  }

  sweep(): { expired: number; freed: number } {
    const expired = this.expired();
    const freed = [...this.runs.values()].filter(
      ({ deletedUntil }) => deletedUntil !== undefined && deletedUntil <= this.now,
    );
    for (const run of expired) run.deletedUntil = this.now + DAY;
    for (const { id } of freed) this.runs.delete(id);
    return { expired: expired.length, freed: freed.length };
  }

  #create(id: string, fields: Fields & { readonly state?: Plain }): Version {
    const run: Run = { id, versions: [], names: new Map(), retention: undefined, deletedUntil: undefined };
    this.runs.set(id, run);
    return this.#saveOn(run, fields);
  }

  #saveOn(run: Run, fields: Fields & { readonly state?: Plain }): Version {
    const before = run.versions.at(-1);
    const { name, status = before?.status ?? 'RUNNING' } = fields;
    if (before && !allowed(before.status, status)) throw new ExpectedError('TRANSITION_REFUSED');
    if (name !== undefined && run.names.has(name) && !fields.moveName) throw new ExpectedError('NAME_TAKEN');
    if (fields.retention) run.retention = toMilliseconds('`retention`', fields.retention);
    return this.#append(run, {
      kind: 'save',
      status,
      state: 'state' in fields ? fields.state : before?.state,
      toolResults: { ...(fields.forgetToolResults ? {} : before?.toolResults), ...fields.toolResults },
      stepNumber: (before?.stepNumber ?? 0) + (fields.step === undefined ? 0 : 1),
      ...{ step: fields.step, name, labels: fields.labels, model: fields.model, writeId: fields.writeId },
    });
  }

  #restore(run: Run, source: Version, kind: 'rewind' | 'undo' | 'redo', undone: readonly number[] = []): Version {
    const { state, toolResults, model, step, stepNumber, labels, version } = source;
    const status = hasEnded(source.status) ? source.status : 'RUNNING';
    const shown = kind === 'rewind' ? undefined : version;
    return this.#append(run, {
      ...{ kind, status, state, toolResults, model, step, stepNumber, labels, restored: version },
      ...{ shown, undone },
    });
  }

  #append(
    run: Run,
    given: Pick<Version, 'kind' | 'status' | 'state' | 'toolResults' | 'stepNumber'> & {
      readonly [F in keyof Version]?: Version[F] | undefined;
    },
  ): Version {
    const version = run.versions.length + 1;
    const before = run.versions.at(-1);
    const { name, labels = {}, shown = version, undone = [] } = given;
    const added: Version = structuredClone({
      ...{ kind: given.kind, status: given.status, state: given.state, toolResults: given.toolResults },
      ...{ step: given.step, stepNumber: given.stepNumber, model: given.model, writeId: given.writeId },
      ...{ version, name, labels, shown, undone, time: this.now, pruned: false, restored: given.restored },
      parent: given.parent ?? (before && { run: run.id, version: before.version }),
      before: before?.shown,
    });
    run.versions.push(added);
    if (name !== undefined) run.names.set(name, version);
    return added;
  }
}

const allowed = (from: Status, to: Status): boolean => from === to || TRANSITIONS[from].includes(to);
