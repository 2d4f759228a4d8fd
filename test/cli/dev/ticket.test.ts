import { describe, expect, it } from 'vitest';
import { withTicket } from '../../../cli/commands/console/open-browser.ts';
import { createGuard } from '../../../cli/dev/server/guard.ts';
import { createTicket, createTicketRedeemer } from '../../../cli/dev/server/ticket.ts';

const KEY = 'k'.repeat(43);
const NOW = Date.parse('2026-03-01T10:00:00Z');

describe('a ticket', () => {
  it('lets in once, and only within a minute', () => {
    const redeem = createTicketRedeemer(KEY);
    const ticket = createTicket(KEY, NOW);
    expect(redeem(ticket, NOW + 59_000)).toBe(true);
    expect(redeem(ticket, NOW + 59_500)).toBe(false);
    expect(redeem(createTicket(KEY, NOW), NOW + 61_000)).toBe(false);
    expect(redeem(createTicket(KEY, NOW + 120_000), NOW)).toBe(false);
    expect(redeem(ticket, NOW + 200_000)).toBe(false);
  });

  it('of another key, or bent, lets nobody in', () => {
    const redeem = createTicketRedeemer(KEY);
    const ticket = createTicket(KEY, NOW);
    const [made, nonce, signed] = ticket.split('.');
    for (const wrong of [
      ...['', '.', 'x', createTicket('other', NOW), `${ticket}x`, ticket.slice(0, -1), ticket.toUpperCase()],
      ...[`${made}.${nonce}.`, `${made}0.${nonce}.${signed}`, `${made}.${'A'.repeat(16)}.${signed}`],
    ])
      expect(redeem(wrong, NOW), wrong).toBe(false);
    expect(redeem(ticket, NOW)).toBe(true);
  });
});

describe('a browser that is opened', () => {
  const keyed = `http://127.0.0.1:4180/?key=${KEY}`;

  it('gets no key by its arguments, and is let in by the guard', () => {
    const url = withTicket(keyed);
    expect(url).not.toContain(KEY);
    const guard = createGuard({ key: KEY, port: 4180, tenant: 'default' });
    const open = (method: string) =>
      guard.check(new Request(url, { method }), { headersDistinct: { host: ['127.0.0.1:4180'] } });
    // Who only looks does not use it up.
    open('HEAD');
    const first = open('GET');
    expect([first?.status, first?.headers.get('location')]).toEqual([303, '/']);
    expect(first?.headers.get('set-cookie')).toContain('HttpOnly; SameSite=Strict');
    expect(open('GET')?.status).toBe(401);
  });
});
