import type { Arsenal } from './requests.ts';
import { type AttackScene, markupText } from './scene.ts';

/** What an attacker knows: everything of their own tenant, and ids, hashes and cursors of the other tenant. */
export function createArsenal({ openApi, own, theirs }: AttackScene): Arsenal {
  const payloads = [...own.payloads, ...own.shownPayloads, ...theirs.payloads, ...theirs.shownPayloads];
  const runs = [...own.runs, ...theirs.runs, 'new 1', 'new 2', 'new 3'];
  return {
    openApi,
    known: {
      ...{ run: runs, id: runs, token: own.tokens, payload: payloads, cursor: [...own.cursors, ...theirs.cursors] },
      ...{ version: ['1', '2', '3', 'latest', 'name:begin'], before: ['1', '2'], after: ['3', 'latest'] },
      ...{ approval: ['book', 'none'], contentHash: [...own.contentHashes, ...theirs.contentHashes], signal: ['seat'] },
      ...{ agent: ['trips', 'elsewhere'], owner: [markupText('owner')], tag: ['all'], name: ['begin', 'seat', 'book'] },
      ...{ by: ['user:ann', 'user:bob'], person: ['user:ann', 'user:bob'] },
      ...{ delegate: ['user:cho', 'user:ann'], until: ['2026-06-01T10:00:00Z', '2026-05-01T09:00:00Z'] },
      ...{ 'if-match': ['"0"', '"1"', '"2"'], 'if-none-match': ['*'] },
    },
    samples: own.samples,
    refs: payloads.map((id) => `{"$":["payload","${id}","${'0'.repeat(64)}",9,"image/png"]}`),
  };
}
