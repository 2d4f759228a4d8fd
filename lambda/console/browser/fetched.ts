/** A page of this site as a document; undefined when nothing changed. What is in it was escaped by the server. */
export async function fetched(url: string): Promise<Document | undefined> {
  const response = await fetch(url, {
    headers: { accept: 'text/html' },
    redirect: 'error',
    credentials: 'same-origin',
  });
  if (response.status === 204) return undefined;
  if (!response.ok) throw new Refused(response.status);
  return new DOMParser().parseFromString(await response.text(), 'text/html');
}

/** An answer that is no page. */
export class Refused extends Error {
  readonly isFinal: boolean;

  constructor(status: number) {
    super(String(status));
    this.isFinal = status >= 400 && status < 500 && status !== 408 && status !== 429;
  }
}
