import { escapeId } from '../lambda/core/ids.ts';

/** The tenants of a Waitstate: any, or those that it was given. */
export class Tenants {
  readonly #path: string;
  readonly #given: readonly string[] | undefined;

  constructor(path: string, given: readonly string[] | undefined) {
    this.#path = path;
    this.#given = given;
  }

  /** Those whose runs are counted. */
  get measured(): readonly string[] {
    return this.#given ?? ['default'];
  }

  /** Those that a role is kept to: the one that is named, or all; undefined for any. */
  restrictedTo(tenant: string | undefined): readonly string[] | undefined {
    if (tenant === undefined) return this.#given;
    escapeId('tenant', tenant);
    if (this.#given && !this.#given.includes(tenant))
      throw new Error(`${this.#path}: ${this.#oneOf()}; found "${tenant}". Add it to \`tenants\`.`);
    return [tenant];
  }

  /** That of a caller, who has one. */
  single(tenant: string | undefined): string {
    const [first = 'default', ...more] = this.restrictedTo(tenant) ?? [];
    if (more.length > 0)
      throw new Error(`${this.#path}: ${this.#oneOf()}, since a caller has one. Say which: { tenant }.`);
    return first;
  }

  #oneOf(): string {
    return `a tenant must be one of ${this.#given?.join(', ')}`;
  }
}
