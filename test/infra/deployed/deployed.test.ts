import { afterAll, beforeAll, describe } from 'vitest';
import { assembled, closeAll } from './scene.ts';
import { otherLanguage } from './stories/other-language.ts';
import { overTime } from './stories/over-time.ts';
import { sealed } from './stories/sealed.ts';
import { tenants } from './stories/tenants.ts';
import { wholeStory } from './stories/whole-story.ts';

describe('what is deployed', () => {
  beforeAll(() => void assembled(), 120_000);
  afterAll(closeAll);

  wholeStory();
  otherLanguage();
  overTime();
  tenants();
  sealed();
});
