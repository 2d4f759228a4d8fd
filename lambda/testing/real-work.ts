import { createHook, type HookCallbacks } from 'node:async_hooks';
import { setTimeout as realTime } from 'node:timers/promises';

/** A timer, a socket or another resource that can keep a process alive. */
interface Resource {
  hasRef?(): boolean;
}

// The resources that were created since the first of the worlds in this process began its work.
const resources = new Map<number, Resource>();
let [works, isPausing] = [0, false];

const callbacks: HookCallbacks & { readonly trackPromises: boolean } = {
  // Older versions of Node.js ignore this, and are slower.
  trackPromises: false,
  init(id, _type, _trigger, resource: Resource) {
    if (!isPausing && typeof resource.hasRef === 'function') resources.set(id, resource);
  },
  destroy(id) {
    resources.delete(id);
  },
};
const hook = createHook(callbacks);

// Files that are read or written, and name lookups.
const isRequest = (type: string): boolean => /Req|Connect/.test(type);

/** How many connections keep this process alive. An idle connection that HTTP clients keep open does not. */
const connections = (active: readonly string[]): number => active.filter((type) => type.includes('Socket')).length;

/**
 * Tells whether this process does real work: I/O, timers, threads. Code that awaits a promise without any of them waits
 * for the test, or for its clock.
 */
export class RealWork {
  #connectionsBefore = 0;
  #cpu = process.cpuUsage();
  #since = performance.now();

  start(): void {
    works += 1;
    hook.enable();
    this.#connectionsBefore = connections(process.getActiveResourcesInfo());
  }

  stop(): void {
    works -= 1;
    if (works > 0) return;
    hook.disable();
    resources.clear();
  }

  /** Whether I/O is active, or a timer, a process or a thread that was started since the work began. */
  get isActive(): boolean {
    const active = process.getActiveResourcesInfo();
    return (
      active.some(isRequest) ||
      connections(active) > this.#connectionsBefore ||
      [...resources.values()].some((resource) => resource.hasRef?.())
    );
  }

  /** Whether there are connections from before, such as to a database. They may be idle, or wait for a response. */
  get hasOldConnections(): boolean {
    return this.#connectionsBefore > 0 && connections(process.getActiveResourcesInfo()) > 0;
  }

  /** The share of the time since the last call that the threads of this process were computing. */
  takeCpuShare(): number {
    const { user, system } = process.cpuUsage(this.#cpu);
    const elapsedMs = performance.now() - this.#since;
    this.#cpu = process.cpuUsage();
    this.#since = performance.now();
    return (user + system) / 1_000 / elapsedMs;
  }
}

/** Waits in real time; this is no work. */
export function pause(milliseconds: number): Promise<void> {
  isPausing = true;
  try {
    return realTime(milliseconds);
  } finally {
    isPausing = false;
  }
}
