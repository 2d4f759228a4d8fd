interface Client {
  readonly config: unknown;
  send(...args: never[]): Promise<unknown>;
}

/** An error as the SDK throws it. */
export function awsError(
  name: string,
  more: { status?: number; message?: string; [other: string]: unknown } = {},
): Error {
  const { status = 400, message = `told to fail with ${name}`, ...rest } = more;
  return Object.assign(new Error(message), { name, $metadata: { httpStatusCode: status, attempts: 1 }, ...rest });
}

/** What happens to a request instead of its answer: an error before it is applied, or the loss of its answer after. */
export type Fault = Error | 'response lost' | undefined;

/**
 * A client in front of a real one whose first requests meet these faults, one each. `sent` has the names of all
 * requests.
 */
export function failing<C extends Client>(real: C, ...faults: Fault[]): C & { readonly sent: string[] } {
  const sent: string[] = [];
  const send = async (command: never, ...more: never[]) => {
    sent.push(Object(command).constructor.name.replace(/Command$/, ''));
    const fault = faults.shift();
    if (fault instanceof Error) throw fault;
    const response = await real.send(command, ...more).catch((error: Error) => error);
    if (fault === 'response lost') throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
    if (response instanceof Error) throw response;
    return response;
  };
  return Object.assign(Object.create(real), { send, sent });
}

/** Options of a store that does not wait between tries, and the waits that it would have made. */
export function withoutSleeping(tries = 4) {
  const waits: number[] = [];
  return { waits, options: { maxAttempts: tries, sleep: async (milliseconds: number) => waits.push(milliseconds) } };
}
