/** Fetches a page as a document whose scripts never run; undefined for status 204, when nothing changed. */
export const fetchPage = (url: string): Promise<Document | undefined> =>
  new Promise((resolve, reject) => {
    // Under Trusted Types a script must not parse HTML text, but XMLHttpRequest may return a document.
    const request = new XMLHttpRequest();
    request.responseType = 'document';
    request.open('GET', url);
    request.setRequestHeader('accept', 'text/html');
    request.timeout = 30_000;
    request.onload = () => {
      if (request.status === 204) resolve(undefined);
      else if (request.status === 200 && request.response instanceof Document) resolve(request.response);
      else reject(new FetchError(request.status));
    };
    request.onerror = () => reject(new FetchError(0));
    request.ontimeout = request.onerror;
    request.send();
  });

/** A response that is not a page. */
export class FetchError extends Error {
  /** Whether a retry cannot succeed. */
  readonly isFinal: boolean;

  constructor(status: number) {
    super(String(status));
    this.isFinal = status >= 400 && status < 500 && status !== 408 && status !== 429;
  }
}
