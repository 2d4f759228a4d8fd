import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { type Line, render } from '../../../cli/terminal/line.ts';
import { type Column, formatTable } from '../../../cli/terminal/table.ts';

interface Row {
  readonly id: string;
  readonly title: string;
  readonly count: number;
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'ID', cell: ({ id }) => id, minWidth: 4 },
  { title: 'TITLE', cell: ({ title }) => title, minWidth: 6, dropPriority: 2 },
  { title: 'COUNT', cell: ({ count }) => String(count), align: 'right', dropPriority: 1 },
];

const shown = (rows: readonly Row[], width: number): readonly string[] =>
  formatTable(COLUMNS, rows, width).map((line: Line) => render(line, (_, text) => text));

describe('a table', () => {
  const rows = [
    { id: 'a', title: 'short', count: 5 },
    { id: 'long-identifier', title: 'a title of some length', count: 12_345 },
  ];

  it('has its natural width if it fits', () => {
    expect(shown(rows, 80)).toEqual([
      'ID               TITLE                   COUNT',
      'a                short                       5',
      'long-identifier  a title of some length  12345',
    ]);
  });

  it('shrinks the least important columns first', () => {
    expect(shown(rows, 36)).toEqual([
      'ID               TITLE         COUNT',
      'a                short             5',
      'long-identifier  a title of …  12345',
    ]);
  });

  it('drops the least important columns, then truncates the others', () => {
    expect(shown(rows, 16)).toEqual(['ID         COUNT', 'a              5', 'long-ide…  12345']);
    expect(shown(rows, 8)).toEqual(['ID', 'a', 'long-id…']);
  });

  it('omits empty columns', () => {
    expect(shown([{ id: 'a', title: '', count: 1 }], 80)[0]).toBe('ID  COUNT');
  });

  it('has no trailing spaces', () => {
    const columns = [COLUMNS[0], COLUMNS[1]].filter((column) => column !== undefined);
    const given = [
      { id: 'a', title: '', count: 1 },
      { id: 'b', title: 'title', count: 1 },
    ];
    const lines = formatTable(columns, given, 80).map((line: Line) => render(line, (_, text) => text));
    expect(lines).toEqual(['ID  TITLE', 'a', 'b   title']);
  });

  it('is never wider than the terminal', () => {
    const row = fc.record({
      id: fc.string({ unit: 'grapheme' }),
      title: fc.string({ unit: 'binary' }),
      count: fc.nat(),
    });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 5 }), fc.integer({ min: 1, max: 60 }), (rows, width) => {
        for (const line of shown(rows, width)) expect(stringWidth(line)).toBeLessThanOrEqual(width);
      }),
    );
  });
});
