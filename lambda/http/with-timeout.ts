/** Resolves with the promise, or rejects with an error once the timeout has passed. */
export async function withTimeout<T>(seconds: number, promise: Promise<T>, timeoutError: () => Error): Promise<T> {
  const timeout = Promise.withResolvers<never>();
  const timer = setTimeout(() => timeout.reject(timeoutError()), seconds * 1000);
  try {
    return await Promise.race([promise, timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}
