import { HOSTILE_TEXTS, words } from './hostile.ts';

export type Header = readonly [name: string, value: string];

/** A header, or none if a client cannot send it. */
export const headerOf = (name: string, value: string): readonly Header[] =>
  /^[\w-]+$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value) ? [[name, value]] : [];

/** Content types that do not match the body or are malformed. */
export const TYPES: readonly string[] = [
  ...words('text/plain application/x-www-form-urlencoded application/json; application/problem+json ; */* \xff/\xff'),
  ...[
    '',
    'multipart/form-data; boundary=x',
    'application/JSON; charset=x',
    'application/json, text/plain',
    'x'.repeat(9_000),
  ],
];

/** Names of additional fields that must be ignored or rejected. */
export const MORE: readonly string[] = [
  ...words('__proto__ constructor tenant by person approval roles expectedVersion writeId $'),
  ...['', '\0'],
];

/** Queries with duplicate, invalid or malformed parameters. */
export const QUERIES: readonly string[] = [
  ...words(
    'limit=1&limit=2 limit=-1 limit=1.5 limit=NaN limit=1e2 limit= limit=99999999999999999999 version=0 from=-1',
  ),
  ...words(
    'status=READY&status=NONE status[]=READY status=READY,FAILED since=x until=2026-02-30T00:00:00Z newestFirst=1',
  ),
  ...words('__proto__=1 constructor=1 __proto__[polluted]=true tenant=south a=% % = && %00=%00 %ff=%ff path=~2'),
  ...words(
    'cursor=zzzzzzzzzzz.aaaaaa cursor=.. cursor=0.______ cursor=zzzzzzzzzzz. since=0000-01-01T00:00:00Z since=1e99',
  ),
  ...words('until=9999-12-31T23:59:59.999%2B23:59 since=2026-05-01T00:00:00-99:99 since=99999999999999999 counted=-1'),
  ...words('all=true&person=user:bob person=group:desk group=user:ann path=/state/__proto__ path=/state&from=1e9'),
  ...words('bytes=1000&path=/toolResults before=latest&after=latest before=name:&after=0 decided=true&decided=true'),
  ...[`cursor=${'a'.repeat(8_500)}`, `id=${'x'.repeat(9_000)}`],
];

const many = (name: string, values: readonly string[]): readonly Header[] => values.map((value) => [name, value]);

/** Headers that ask for the impossible, misdescribe the body, or impersonate others. */
export const HEADERS: readonly Header[] = [
  ...many('accept', [
    ...words('text/html */* text/html;q=0 application/json;q=0.1,text/html ;;; \xff'),
    'x'.repeat(9_000),
  ]),
  ...many('if-match', [...words('"1" "0" W/"1" * "-1" "999999999999" 1 "" "1e3"'), '"1", "2"']),
  ...many('if-none-match', [...words('* "1" "" \xff'), '"2", W/"3"']),
  ...many('sec-fetch-site', words('cross-site same-site none same-origin x')),
  ...many('content-length', words('-1 0 1e99 99999999999 x')),
  ...words('host x-forwarded-host x-forwarded-proto x-http-method-override authorization cookie range origin').map(
    (name): Header => [name, 'https://south.test/, bytes=0-99999999999'],
  ),
  ...HOSTILE_TEXTS.flatMap((text) => headerOf('idempotency-key', text)),
  ['content-encoding', 'gzip'],
  ['transfer-encoding', 'chunked'],
  ['expect', '100-continue'],
  ['upgrade', 'h2c'],
  ['x-huge', 'x'.repeat(100_000)],
];

export const METHODS: readonly string[] = words('GET HEAD POST PUT PATCH DELETE OPTIONS PROPFIND get X');
