import { escapeId } from '../lambda/core/ids.ts';

/** The tenants of a Waitstate: those of the props, or any. */
export class Tenants {
  readonly #path: string;
  readonly #given: readonly string[] | undefined;

  constructor(path: string, given: readonly string[] | undefined) {
    this.#path = path;
    this.#given = given;
  }

  /** The tenants whose runs the gauges count. */
  get measured(): readonly string[] {
    return this.#given ?? ['default'];
  }

  /**
   * The tenants that a role is restricted to: the given one, or all of the props; undefined if any tenant is allowed.
   */
  restrictedTo(tenant: string | undefined): readonly string[] | undefined {
    if (tenant === undefined) return this.#given;
    escapeId('tenant', tenant);
    if (this.#given && !this.#given.includes(tenant))
      throw new Error(`${this.#path}: ${this.#expectation()}; found "${tenant}". Add it to \`tenants\`.`);
    return [tenant];
  }

  /** The one tenant of a caller. */
  single(tenant: string | undefined): string {
    const [first = 'default', ...more] = this.restrictedTo(tenant) ?? [];
    if (more.length > 0)
      throw new Error(
        `${this.#path}: ${this.#expectation()}, because a caller has one tenant; found none. Pass { tenant }.`,
      );
    return first;
  }

  #expectation(): string {
    return `a tenant must be one of ${this.#given?.join(', ')}`;
  }
}
