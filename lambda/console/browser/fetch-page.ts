/** A page of this site as a document, whose scripts never run; undefined when nothing changed. */
export const fetchPage = (url: string): Promise<Document | undefined> =>
  new Promise((resolve, reject) => {
    // A browser that demands trusted types lets nobody parse text, but reads a document by itself.
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

/** An answer that is no page. */
export class FetchError extends Error {
  /** Whether there is no use in asking again. */
  readonly isFinal: boolean;

  constructor(status: number) {
    super(String(status));
    this.isFinal = status >= 400 && status < 500 && status !== 408 && status !== 429;
  }
}
