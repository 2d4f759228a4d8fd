import { describe, expect, it } from 'vitest';
import { withTicket } from '../../../cli/commands/console/open-browser.ts';
import { createGuard } from '../../../cli/dev/server/guard.ts';
import { createTicket, createTicketRedeemer } from '../../../cli/dev/server/ticket.ts';

const KEY = 'k'.repeat(43);
const NOW = Date.parse('2026-03-01T10:00:00Z');

describe('a ticket', () => {
  it('is accepted once, and only within a minute', () => {
    const redeem = createTicketRedeemer(KEY);
    const ticket = createTicket(KEY, NOW);
    expect(redeem(ticket, NOW + 59_000)).toBe(true);
    expect(redeem(ticket, NOW + 59_500)).toBe(false);
    expect(redeem(createTicket(KEY, NOW), NOW + 61_000)).toBe(false);
    expect(redeem(createTicket(KEY, NOW + 120_000), NOW)).toBe(false);
    expect(redeem(ticket, NOW + 200_000)).toBe(false);
  });

  it('is rejected if it is malformed or belongs to another key', () => {
    const redeem = createTicketRedeemer(KEY);
    const ticket = createTicket(KEY, NOW);
    const [createdAt, nonce, signed] = ticket.split('.');
    for (const wrong of [
      ...['', '.', 'x', createTicket('other', NOW), `${ticket}x`, ticket.slice(0, -1), ticket.toUpperCase()],
      ...[`${createdAt}.${nonce}.`, `${createdAt}0.${nonce}.${signed}`, `${createdAt}.${'A'.repeat(16)}.${signed}`],
    ])
      expect(redeem(wrong, NOW), wrong).toBe(false);
    expect(redeem(ticket, NOW)).toBe(true);
  });
});

describe('the URL for the browser', () => {
  const keyed = `http://127.0.0.1:4180/?key=${KEY}`;

  it('contains no key, and signs in once', () => {
    const url = withTicket(keyed);
    expect(url).not.toContain(KEY);
    const guard = createGuard({ key: KEY, port: 4180, tenant: 'default' });
    const open = (method: string) =>
      guard.check(new Request(url, { method }), { headersDistinct: { host: ['127.0.0.1:4180'] } });
    // A HEAD request does not use up the ticket.
    open('HEAD');
    const first = open('GET');
    expect([first?.status, first?.headers.get('location')]).toEqual([303, '/']);
    expect(first?.headers.get('set-cookie')).toContain('HttpOnly; SameSite=Strict');
    expect(open('GET')?.status).toBe(401);
  });
});
