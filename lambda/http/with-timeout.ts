/** What is waited for, or after so many seconds an error. */
export async function withTimeout<T>(seconds: number, waiting: Promise<T>, tooLate: () => Error): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(tooLate()), seconds * 1000);
  try {
    return await Promise.race([waiting, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
