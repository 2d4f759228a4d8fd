import { afterAll, beforeAll, describe } from 'vitest';
import { assembled, closeAll } from './scene.ts';
import { accessDenied } from './stories/access-denied.ts';
import { administer } from './stories/administer.ts';
import { encrypted } from './stories/encrypted.ts';
import { environment } from './stories/environment.ts';
import { measured } from './stories/measured.ts';
import { otherLanguage } from './stories/other-language.ts';
import { overTime } from './stories/over-time.ts';
import { permissions } from './stories/permissions.ts';
import { runEnds } from './stories/run-ends.ts';
import { tenants } from './stories/tenants.ts';
import { wholeStory } from './stories/whole-story.ts';

// These tests create their own tables, so they cannot use a single existing one.
describe.skipIf(process.env.DYNAMODB_TABLE)('a deployed stack', () => {
  beforeAll(async () => void (await assembled()), 120_000);
  afterAll(closeAll);

  wholeStory();
  otherLanguage();
  overTime();
  tenants();
  encrypted();
  accessDenied();
  administer();
  runEnds();

  environment();
  measured();
  permissions();
});
