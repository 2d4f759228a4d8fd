/** One message of a stream of server-sent events. */
export interface StreamMessage {
  readonly id?: string;
  readonly event: string;
  readonly data: string;
}

/** Parses a stream of server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing */
export async function* parseEventStream(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamMessage, void> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      // A message that was cut off is not complete, and comes again after the next connection.
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      const blocks = rest.replaceAll('\r\n', '\n').split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const message = parseMessage(block);
        if (message) yield message;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function parseMessage(block: string): StreamMessage | undefined {
  const fields = block
    .split('\n')
    .map((line) => /^(id|event|data): ?(.*)$/.exec(line))
    .filter((match) => match !== null);
  const values = (name: string) => fields.filter(([, field]) => field === name).map(([, , value = '']) => value);
  const data = values('data');
  if (data.length === 0) return undefined;
  const id = values('id').at(-1);
  return { event: values('event').at(-1) ?? 'message', data: data.join('\n'), ...(id !== undefined && { id }) };
}
