import type { Person } from '../../lambda/core/approval.ts';
import type { World } from './world.ts';

/** The groups of approvers, and who belongs to them at first. */
const MEMBERS = {
  'group:ops': ['user:ann', 'user:ben', 'user:eve'],
  'group:audit': ['user:cyd', 'user:eve', 'user:fay'],
} as const satisfies Record<string, readonly [Person, ...Person[]]>;

type GroupName = keyof typeof MEMBERS;

/** The names of the groups. */
export const GROUPS: readonly [GroupName, ...GroupName[]] = ['group:ops', 'group:audit'];

const MINUTE = 60_000;

/** Knows who belongs to which group, as a company's directory does. People leave and join. */
export class Groups {
  readonly #members = new Map<string, Set<Person>>(
    Object.entries(MEMBERS).map(([group, all]) => [group, new Set(all)]),
  );
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /** The members of a group now. */
  list(group: string): readonly Person[] {
    return [...(this.#members.get(group) ?? [])];
  }

  /** The groups of a person now, as their login says. */
  of(person: Person): readonly string[] {
    return GROUPS.filter((group) => this.#members.get(group)?.has(person));
  }

  /** Everybody who ever belongs to one of these groups. */
  candidates(groups: readonly string[]): readonly Person[] {
    return groups.flatMap((group) => MEMBERS[group as GroupName] ?? []);
  }

  /** Plans that somebody leaves a group, and perhaps joins it again. */
  planChanges(): void {
    const { chance } = this.#world;
    if (!chance.happens(0.3)) return;
    const group = chance.one(GROUPS);
    const person = chance.one<Person>(MEMBERS[group]);
    const leaveAfter = chance.between(0, 120 * MINUTE);
    this.#change(leaveAfter, 'leaves', group, person);
    if (chance.happens(0.5)) this.#change(leaveAfter + chance.between(1, 60 * MINUTE), 'joins', group, person);
  }

  #change(after: number, what: 'leaves' | 'joins', group: string, person: Person): void {
    this.#world.timeline.after(after, () => {
      this.#world.note('directory', `${person} ${what} ${group}`);
      const members = this.#members.get(group);
      if (what === 'joins') members?.add(person);
      else members?.delete(person);
    });
  }
}
