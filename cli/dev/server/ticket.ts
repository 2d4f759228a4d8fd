import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const TICKET_TTL_MS = 60_000;

/**
 * Creates a ticket that signs in one browser, once, within a minute. Every user of the machine can read the arguments of a
 * process, so a browser is opened with a ticket and not with the key.
 */
export function createTicket(key: string, now = Date.now()): string {
  const text = `${now.toString(36)}.${randomBytes(12).toString('base64url')}`;
  return `${text}.${signature(key, text)}`;
}

/** Returns a function that accepts each ticket of a key once. */
export function createTicketRedeemer(key: string): (ticket: string, now?: number) => boolean {
  const used = new Map<string, number>();
  return (ticket, now = Date.now()) => {
    const [, text = '', createdAt = '', signed = ''] =
      /^(([0-9a-z]{1,11})\.[\w-]{16})\.([\w-]{43})$/.exec(ticket) ?? [];
    const isOurs = timingSafeEqual(Buffer.from(signature(key, text)), Buffer.from(signed.padEnd(43, '.')));
    const age = now - Number.parseInt(createdAt || '0', 36);
    for (const [old, at] of used) if (now - at > 2 * TICKET_TTL_MS) used.delete(old);
    if (!isOurs || Math.abs(age) > TICKET_TTL_MS || used.has(text)) return false;
    used.set(text, now);
    return true;
  };
}

const signature = (key: string, text: string): string =>
  createHmac('sha256', key).update(`ticket ${text}`).digest('base64url');
