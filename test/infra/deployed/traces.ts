import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** A fake X-Ray daemon that records segments. */
export async function openTraces() {
  const segments: string[] = [];
  const socket = createSocket('udp4', (message) => void segments.push(message.toString())).bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    segments,
    close: async () => {
      socket.close();
      await once(socket, 'close');
    },
  };
}
