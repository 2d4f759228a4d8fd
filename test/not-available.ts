/** Says why this machine cannot run a tool that tests use only where it is installed. */
export class NotAvailableError extends Error {
  override readonly name = 'NotAvailableError';
}
