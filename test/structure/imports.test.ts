import { describe, expect, it } from 'vitest';
import { cyclesIn, type ImportGraph, readImportGraph } from './import-graph.ts';
import { CHECKPOINT_DOORS, LAYERS, layerOf, RUNTIME_ROOMS } from './layers.ts';

const graph = readImportGraph('lambda', 'infra', 'cli');

/** The imports of a graph that point from a layer to a higher one. */
function upwardImports(imports: ImportGraph, layers: readonly string[]): readonly string[] {
  const found: string[] = [];
  for (const [module, imported] of imports) {
    const from = layers.indexOf(layerOf(module, layers) ?? '');
    for (const other of imported) {
      const to = layers.indexOf(layerOf(other, layers) ?? '');
      if (from >= 0 && to > from) found.push(`${module} imports ${other}`);
    }
  }
  return found;
}

/** The imports of a graph that pass by the doors of a folder. */
function importsBesideDoors(imports: ImportGraph, folder: string, doors: readonly string[]): readonly string[] {
  const isInside = (module: string): boolean => module.startsWith(`${folder}/`);
  return [...imports].flatMap(([module, imported]) =>
    isInside(module)
      ? []
      : imported
          .filter((other) => isInside(other) && !doors.includes(other))
          .map((other) => `${module} imports ${other}`),
  );
}

describe('the import graph', () => {
  it('covers the whole product', () => {
    expect(graph.size).toBeGreaterThan(450);
    expect([...graph.values()].flat().length).toBeGreaterThan(2_000);
    const unknown = [...graph].flatMap(([module, imported]) =>
      imported.filter((other) => !graph.has(other) && !other.endsWith('.json')).map((other) => `${module}: ${other}`),
    );
    expect(unknown).toEqual([]);
  });

  it('has no import that points up a layer', () => {
    expect(upwardImports(graph, LAYERS)).toEqual([]);
  });

  it('has no import that points up between folders of the runtime', () => {
    expect(upwardImports(graph, RUNTIME_ROOMS)).toEqual([]);
  });

  it('has no cycle, type imports included', () => {
    expect(cyclesIn(graph)).toEqual([]);
  });

  it('reaches the checkpoint store only through its front doors', () => {
    expect(importsBesideDoors(graph, 'lambda/checkpoints', CHECKPOINT_DOORS)).toEqual([]);
  });

  it('has no folder with more than 25 modules', () => {
    const sizes = Map.groupBy(graph.keys(), (module) => module.replace(/\/[^/]*$/, ''));
    const large = [...sizes].filter(([, modules]) => modules.length > 25).map(([folder]) => folder);
    expect(large).toEqual([]);
  });
});

describe('the checks of the import graph', () => {
  const wrong: ImportGraph = new Map([
    ['lambda/core/a.ts', ['lambda/storage/b.ts']],
    ['lambda/storage/b.ts', ['lambda/storage/c.ts']],
    ['lambda/storage/c.ts', ['lambda/storage/b.ts']],
    ['lambda/runtime/d.ts', ['lambda/checkpoints/format/meta.ts']],
  ]);

  it('name an import that points up', () => {
    expect(upwardImports(wrong, LAYERS)).toEqual(['lambda/core/a.ts imports lambda/storage/b.ts']);
  });

  it('name a cycle', () => {
    expect(cyclesIn(wrong)).toEqual([['lambda/storage/b.ts', 'lambda/storage/c.ts']]);
  });

  it('name an import that passes by a front door', () => {
    expect(importsBesideDoors(wrong, 'lambda/checkpoints', CHECKPOINT_DOORS)).toEqual([
      'lambda/runtime/d.ts imports lambda/checkpoints/format/meta.ts',
    ]);
  });
});
