import fc from 'fast-check';
import { RawJson } from './raw.ts';

/** The words of a line, separated by spaces. */
export const words = (text: string): readonly string[] => text.split(' ');

/** Texts that often break programs: terminators, control and direction marks, inherited property names, markup. */
export const HOSTILE_TEXTS: readonly string[] = [
  ...['', ' ', '\0', 'a\0b', '\u0001\u001b[31m\u007f', '\r\nset-cookie: a=b', '\ud800', 'a\udc00b', '\ufffe\uffff'],
  ...['\u202e\u2066abc\u2069', '\u200b\ufeff', 'e\u0301', 'ß'.repeat(90), ' user:ann', 'user:ann\0', "' or '1'='1"],
  ...words('é 𝒳 ﷺ 👩‍👩‍👧 ı __proto__ constructor prototype toString hasOwnProperty then $ $ref @input @error @token/x'),
  ...words('. .. ../.. ../../etc/passwd / // \\ a/b a%2fb %00 % ~ ~~ ~zz \' " ` <script> #{7*7} {{7*7}} %s%n'),
  ...words('true null undefined NaN -1 1e400 0x10 latest name: name:begin user: group: group:desk user:ann'),
  ...words('2026-02-30T00:00:00Z 2026-05-01 +275760-09-13T00:00:00Z 0000-00-00T00:00:00Z 2026-05-01T24:61:00Z'),
  ...['"><img src=x onerror=x()>', '; drop table', '9'.repeat(400), 'x'.repeat(257), 'x'.repeat(3000)],
];

/** Numbers that overflow, lose precision or are out of range. */
const HOSTILE_NUMBERS = ['-0', '-1', '0', '0.5', '1e400', '-1e400', '1e-400', '9007199254740993', '1e21', '4294967296'];

const nested = (levels: number): RawJson => new RawJson(`${'['.repeat(levels)}${']'.repeat(levels)}`);

/** Objects that try to pollute prototypes or override methods. */
const HOSTILE_OBJECTS = [
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"__proto__":null}',
  '{"toString":1,"valueOf":2,"toJSON":3,"then":4}',
  '{"a":1,"a":2}',
  '{"":0}',
  '{"\\u0000":0,"\\ud800":0}',
  '{"length":4294967295}',
];

/** Documents with invalid or forbidden `$` nodes. */
const HOSTILE_DOCUMENTS = [
  '{"$":"undefined"}',
  '{"$":"hole"}',
  '{"$":null}',
  '{"$":[]}',
  '{"$":["date","x"]}',
  '{"$":["date",8.65e15]}',
  '{"$":["bigint","1e9"]}',
  '{"$":["regexp","(","g"]}',
  '{"$":["url","no"]}',
  '{"$":["bytes","Uint32Array","AAA="]}',
  '{"$":["bytes","SharedArrayBuffer","AAAA"]}',
  '{"$":["map",[[1]]]}',
  '{"$":["map",{"a":1}]}',
  '{"$":["set",[{"$":"undefined"}]]}',
  '{"$":["error","Error","no",{"stack":"x","cause":{"$":["ref",1]}}]}',
  '{"$":["error","__proto__","no",{"__proto__":{"polluted":true}}]}',
  '{"$":["class","Money",{"cents":1}]}',
  '{"$":["class","__proto__",{}]}',
  '{"$":["object",{"$":1,"__proto__":{"polluted":true}}]}',
  '{"$":["null-object",{"a":1}]}',
  '{"$":["shared",1,[{"$":["ref",1]}]]}',
  '{"$":["ref",7]}',
  '{"$":["truncated","list",9,[]]}',
  '{"$":["payload","../x","0",1]}',
  '{"$":["payload",1,2,3,4]}',
  '[{"$":"hole"},{"$":"NaN"},{"$":"-0"}]',
];

/** Any code point, including lone surrogates. */
export const anyUnit: fc.Arbitrary<string> = fc.oneof(
  fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code)),
  fc.integer({ min: 0, max: 0xff }).map((code) => String.fromCodePoint(code)),
);

/** A hostile, random or long text. */
export const hostileText = (): fc.Arbitrary<string> =>
  fc.oneof(
    { arbitrary: fc.constantFrom(...HOSTILE_TEXTS), weight: 4 },
    { arbitrary: fc.string({ unit: anyUnit, maxLength: 40 }), weight: 3 },
    { arbitrary: fc.constantFrom('x'.repeat(20_000), '\ud83d'.repeat(3_000), '𝒳'.repeat(10_000)), weight: 1 },
  );

/** An unexpected JSON value; some have no equivalent in JavaScript. */
export const hostileValue = (refs: readonly string[] = []): fc.Arbitrary<unknown> =>
  fc.oneof(
    { arbitrary: hostileText(), weight: 4 },
    { arbitrary: fc.constantFrom(...HOSTILE_NUMBERS).map((text) => new RawJson(text)), weight: 2 },
    { arbitrary: fc.constantFrom(null, true, false, [], {}, [[]], [null], { a: {} }), weight: 2 },
    { arbitrary: fc.constantFrom(...HOSTILE_OBJECTS).map((text) => new RawJson(text)), weight: 2 },
    { arbitrary: fc.constantFrom(...HOSTILE_DOCUMENTS, ...refs).map((text) => new RawJson(text)), weight: 3 },
    { arbitrary: fc.constantFrom(50, 90, 101, 5_000).map(nested), weight: 1 },
    { arbitrary: fc.constant(new RawJson(`[${'0,'.repeat(20_000)}0]`)), weight: 1 },
    { arbitrary: fc.constant(new RawJson(`{${Array.from({ length: 2_000 }, (_, i) => `"k${i}":0`)}}`)), weight: 1 },
    { arbitrary: fc.jsonValue({ maxDepth: 3 }), weight: 2 },
  );

/** Bodies that are not JSON, not UTF-8, too large, or JSON of the wrong type. */
export const hostileBody = (maxBytes: number): fc.Arbitrary<string | Uint8Array> =>
  fc.oneof(
    fc.constantFrom<string | Uint8Array>(
      ...[
        '',
        ' ',
        'null',
        '0',
        '"x"',
        '[]',
        'true',
        '{',
        '{}}',
        '{"a":}',
        "{'a':1}",
        '{"a":1,}',
        '{/**/}',
        'NaN',
        '\0',
      ],
      ...['\ufeff{}', '{}\n{}', '{"answer":"approve"}\0', '{"a":"\u0001"}', 'a=b', '--x\r\n\r\n--x--', '<x/>'],
      ...[
        Uint8Array.of(0xff),
        Uint8Array.of(0x7b, 0x22, 0xc0, 0xae, 0x22, 0x3a, 0x30, 0x7d),
        Uint8Array.of(0xed, 0xa0, 0x80),
      ],
      ...[
        `"${'x'.repeat(maxBytes)}"`,
        '['.repeat(maxBytes - 1),
        '{"a":'.repeat(30_000),
        '"'.repeat(999),
        '\\'.repeat(9),
      ],
    ),
    fc.uint8Array({ maxLength: 200 }),
    fc.string({ maxLength: 200 }),
  );

const HOSTILE_PARTS = [
  ...words(
    '%00 a%00 %2e%2e %2E%2e%2F%2e%2e .. . %2f %2F%2F %5c %5c.. %252e%252e %25%32%66 %2500 %20 + - .a * ;a=b , :run',
  ),
  ...words(
    '%c0%ae%c0%ae %e0%80%af %ff %fe%ff %ed%a0%80 %f4%90%80%80 % %1 %zz %u0041 %%35 %E2%80%AE %F0%9F%91%A9 {run}',
  ),
  ...words('~ ~~ ~ZZ ~2 ~2F~2e ~FF ~ED~A0~80 ~00 ~7E %7E2F assets latest null 0 -1 __proto__ constructor @token'),
  ...words('%0d%0aset-cookie:%20a=b %40token%2Fx'),
];

/** A character of a path segment (RFC 3986), or any character in percent encoding. */
const segmentUnit = fc.oneof(
  fc.constantFrom(..."abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=:@"),
  anyUnit.map((unit) => encodeURIComponent(unit.toWellFormed())),
);

/** Path segments that decode to something else, to nothing, twice, or to a parent folder. */
export const hostilePathPart = (): fc.Arbitrary<string> =>
  fc.oneof(
    {
      arbitrary: fc.constantFrom(...HOSTILE_PARTS, '%41'.repeat(400), 'x'.repeat(4_000), 'x'.repeat(12_000)),
      weight: 3,
    },
    { arbitrary: fc.string({ unit: segmentUnit, minLength: 1, maxLength: 10 }), weight: 1 },
    { arbitrary: fc.uint8Array({ minLength: 1, maxLength: 12 }).map(percentEncoded), weight: 1 },
  );

const percentEncoded = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
