import { WaitstateError } from '../../core/errors.ts';

export type SchemaVersion = number | string;

/** The version of the state's shape that this code uses, and the migrations from older versions. */
export interface Schema {
  readonly version: SchemaVersion;
  /** All versions, oldest first; required when they are not 1, 2, 3 … */
  readonly order?: readonly SchemaVersion[];
  /**
   * The migrations, each from one version to the next. A migration receives a copy that it may change, and returns the
   * new state or nothing.
   */
  readonly migrations?: Readonly<Record<SchemaVersion, Migration>>;
  /** The oldest version that stored states can have; earlier migrations are not needed. @default the first */
  readonly oldest?: SchemaVersion;
}

// A method type is bivariant, so a migration may declare the type of its state.
type Migration = { migrate(state: unknown): unknown }['migrate'];

/** A validated schema: it has every migration from the oldest version to the current one. */
export interface SchemaMigrator {
  readonly current: SchemaVersion;
  /** Throws when this code cannot read the version: it is newer than the code, or older than `oldest`. */
  check(run: string, from: SchemaVersion | undefined): void;
  /** Migrates a state to the current version. */
  migrate(run: string, state: unknown, from: SchemaVersion | undefined): unknown;
}

/** Validates a schema; throws SCHEMA_INVALID when it is incomplete or contradictory. */
export function createMigrator(schema: Schema): SchemaMigrator {
  const { version, migrations = {} } = schema;
  const order = schema.order ?? versionsUpTo(version);
  const currentIndex = order.indexOf(version);
  const oldestIndex = schema.oldest === undefined ? 0 : order.indexOf(schema.oldest);
  if (new Set(order).size !== order.length)
    throw invalidSchema(`\`order\` must name each version once; found ${order.join(', ')}`);
  if (currentIndex < 0)
    throw invalidSchema(`\`order\` must contain the current version ${version}; found ${order.join(', ')}`);
  if (oldestIndex < 0 || oldestIndex > currentIndex)
    throw invalidSchema(`\`oldest\` must be a version up to ${version}; found ${schema.oldest}`);
  const steps = order.slice(oldestIndex, currentIndex);
  const missing = steps.filter((rung) => typeof migrations[rung] !== 'function');
  if (missing.length > 0)
    throw invalidSchema(`every version before ${version} needs a migration; missing: ${missing.join(', ')}`);
  const unknown = Object.keys(migrations).filter(
    (from) => !order.slice(0, currentIndex).some((rung) => String(rung) === from),
  );
  if (unknown.length > 0)
    throw invalidSchema(`migrations must start before version ${version}; found one from ${unknown.join(', ')}`);

  // A state that was saved without a schema has the oldest version.
  const positionOf = (run: string, from: SchemaVersion | undefined): number => {
    const position = from === undefined ? oldestIndex : order.indexOf(from);
    if (position > currentIndex || position < 0) {
      throw new WaitstateError(
        'SCHEMA_TOO_NEW',
        `The state of run "${run}" has schema version ${from}; this code reads up to ${version}. Deploy the newer code, or fork an older checkpoint.`,
        { scope: 'run' },
      );
    }
    if (position < oldestIndex) {
      throw new WaitstateError(
        'SCHEMA_INVALID',
        `The state of run "${run}" has schema version ${from}; migrations start at ${order[oldestIndex]}. Add the older ones again.`,
        { scope: 'run' },
      );
    }
    return position;
  };

  return {
    current: version,
    check: (run, from) => void positionOf(run, from),
    migrate(run, state, from) {
      let migrated = state;
      for (const rung of order.slice(positionOf(run, from), currentIndex)) {
        try {
          const returned = (migrations[rung] as Migration)(migrated);
          // A migration that returns nothing has changed its copy.
          if (returned !== undefined) migrated = returned;
        } catch (cause) {
          throw new WaitstateError(
            'MIGRATION_FAILED',
            `The migration from schema version ${rung} threw on run "${run}": ${String(cause)}`,
            {
              scope: 'run',
              cause,
            },
          );
        }
        if (migrated instanceof Promise) {
          throw new WaitstateError(
            'MIGRATION_FAILED',
            `The migration from schema version ${rung} must return the new state, not a promise.`,
          );
        }
      }
      return migrated;
    },
  };
}

function versionsUpTo(version: SchemaVersion): readonly SchemaVersion[] {
  if (typeof version !== 'number')
    throw invalidSchema(`versions that are not numbers need an \`order\`; found ${JSON.stringify(version)}`);
  if (!Number.isSafeInteger(version) || version < 1 || version > 10_000)
    throw invalidSchema(`a version must be a whole number from 1; found ${version}`);
  return Array.from({ length: version }, (_, index) => index + 1);
}

const invalidSchema = (why: string): WaitstateError =>
  new WaitstateError('SCHEMA_INVALID', `The schema is invalid: ${why}.`);
