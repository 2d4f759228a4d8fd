import { describe, expect, it } from 'vitest';
import { PATHS } from '../../lambda/console/paths.ts';
import { agent, FatalError } from '../../lambda/index.ts';
import { caller, consoleScene } from './scene.ts';
import { textOf, unescaped } from './well-formed.ts';

const counting = agent({
  name: 'counting',
  state: { initial: () => ({ count: 0, notes: [] as string[] }) },
  async turn(ctx, { count, notes }) {
    if (count >= 3) return ctx.done({ count, notes });
    const next = await ctx.step('count', () => count + 1);
    return { count: next, notes: [...notes, `counted ${next}`] };
  },
});

const waiting = agent({
  name: 'waiting',
  state: { initial: () => ({ seat: 'none' }) },
  async run(ctx) {
    const seat = await ctx.waitForSignal('seat');
    if (seat === 'bad') throw new FatalError('No such seat.');
    await ctx.step('take', () => seat);
    return { seat, state: ctx.state };
  },
});

describe('the page of a run', () => {
  it('shows a timeline whose segments link to checkpoints', async () => {
    const { start, get, operator } = consoleScene(counting);
    await start(undefined, { id: 'run' });
    const { version } = await operator.run('run');
    const { page } = await get(PATHS.run('run'));
    for (let each = 1; each <= version; each++) {
      expect(page).toContain(`data-key="version:${each}"`);
      expect(page).toContain(`href="${PATHS.checkpoint('run', each)}"`);
    }
    expect(textOf(page)).toMatch(/Succeeded .*Total: .*Version Activity Chart Duration Ended Size 1 start .*Result/);
    expect(page).not.toContain('style=');
  });

  it('links a parent and its child run to each other, and says that the child was started, not forked', async () => {
    const billing = agent({ name: 'billing', run: (ctx) => ctx.waitForSignal('paid') });
    const orders = agent({ name: 'orders', run: (ctx) => ctx.call(billing, null) });
    const { start, get, post, settle } = consoleScene(orders, { agents: [billing] });
    await start(undefined, { id: 'order' });
    const child = PATHS.run('order.billing');
    const parent = await get(PATHS.run('order'));
    expect(textOf(parent.page)).toMatch(/Waiting for a child run .*Waiting for child run order\.billing/);
    expect(textOf(parent.page)).toMatch(/waiting for child run billing now/);
    expect(textOf(parent.page)).not.toMatch(/waiting for a? ?signal/i);
    expect(parent.page).toContain(`href="${child}"`);
    const called = await get(child);
    expect(textOf(called.page)).toContain('started by order at checkpoint 2');
    expect(textOf(called.page)).not.toContain('forked');
    expect(called.page).toContain(`href="${PATHS.checkpoint('order', 2)}"`);
    expect(textOf((await get(PATHS.runs)).page)).toMatch(/order Waiting for a child run/);
    await post(PATHS.ofRun('order.billing', 'signal'), { name: 'paid', value: '1' });
    await settle();
    const ended = await get(PATHS.run('order'));
    expect(textOf(ended.page)).toMatch(
      /waiting for child run billing order\.billing .*Child runs order\.billing billing succeeded/,
    );
    await post(PATHS.ofRun('order', 'fork'), { version: '2', id: 'other' });
    expect(textOf((await get(PATHS.run('other'))).page)).toContain('forked from order at checkpoint 2');
  });

  it('draws operations that ran side by side in lanes, each with its own time', async () => {
    let wait = (_: number): Promise<void> => Promise.resolve();
    const trips = agent({
      name: 'trips',
      run: (ctx) =>
        ctx.all('search', [
          async (branch) => {
            await branch.step('train', () => wait(100));
            await branch.step('seat', () => wait(300));
          },
          (branch) => branch.step('flight', () => wait(400)),
        ]),
    });
    const { start, get, clock } = consoleScene(trips);
    wait = (milliseconds) => clock.sleep(milliseconds);
    await start(undefined, { id: 'run' });
    const { page } = await get(PATHS.run('run'));
    const lanes = [...page.matchAll(/<div class="lane">(.*?)<\/div>/g)].map(([, lane = '']) =>
      [...lane.matchAll(/x(\d+) xt\d w(\d+) wt\d" [^>]*title="([^:]+)/g)].map(([, x, w, name]) => [name, x, w]),
    );
    expect(lanes).toEqual([
      [['search[1]/flight', '0', '100']],
      [
        ['search[0]/train', '0', '25'],
        ['search[0]/seat', '25', '75'],
      ],
    ]);
    expect(textOf(page)).toMatch(/search\[1\]\/flight 400 ms/);
  });

  it('counts retries and crashes, and says why the last attempt failed', async () => {
    const flaky = agent({
      name: 'flaky',
      async run(ctx) {
        await ctx.step('look', () => 1);
        await ctx.step('pay', () => Promise.reject(new Error('The bank is closed.')), {
          retry: { maxAttempts: 9, initialDelay: { minutes: 1 }, backoffRate: 1 },
        });
      },
    });
    const { start, get, skip, crash } = consoleScene(flaky);
    crash({ before: 'look' });
    await start(undefined, { id: 'run' });
    await skip({ minutes: 1, seconds: 30 });
    const { page } = await get(PATHS.run('run'));
    expect(textOf(page)).toMatch(/3 failed attempts 0 ms/);
    expect(textOf(page)).toMatch(/1 crash 0 ms/);
    expect(textOf(page)).toMatch(/next attempt of pay ,.* 3 attempts failed, the last one with: The bank is closed\./);
    expect(textOf(page)).toMatch(/waiting for next attempt of pay now/);
  });

  it('splits a long history into pages without gaps or overlaps', async () => {
    const long = agent({
      name: 'long',
      async run(ctx) {
        for (let i = 0; i < 120; i++) await ctx.step(`step ${i}`, () => i);
      },
    });
    const { start, get, operator } = consoleScene(long);
    await start(undefined, { id: 'long' });
    const { version } = await operator.run('long');
    const seen: number[] = [];
    let path: string | undefined = PATHS.run('long');
    while (path) {
      const { page } = await get(path);
      const versions = [...page.matchAll(/data-key="version:(\d+)"/g)].map(([, each]) => Number(each));
      expect(versions.length).toBeLessThanOrEqual(50);
      seen.unshift(...versions);
      path = /href="([^"]+)">Older</.exec(page)?.[1];
    }
    expect(seen).toEqual(Array.from({ length: version }, (_, i) => i + 1));
  });

  it('shows what the run waits for, why it failed, and only the actions that its status allows', async () => {
    const { start, get, post } = consoleScene(waiting);
    await start(undefined, { id: 'run' });
    const before = await get(PATHS.run('run'));
    expect(textOf(before.page)).toContain('Waiting for signal seat');
    for (const action of ['signal', 'fork', 'rewind', 'cancel'] as const)
      expect(before.page).toContain(`href="${PATHS.ofRun('run', action)}"`);
    expect(before.page).not.toContain('/retry"');
    await post(PATHS.ofRun('run', 'signal'), { name: 'seat', value: '"bad"' });
    const { page } = await get(PATHS.run('run'));
    expect(textOf(page)).toMatch(
      /FatalError STEP_FAILED No such seat\..*Stack trace FatalError: No such seat\. +at .*run\.test\.ts/,
    );
    expect(page).toMatch(/<details class="rest"><summary>Stack trace/);
    expect(page).toContain('/retry"');
    expect(page).not.toContain('/cancel"');
    const viewer = await get(PATHS.run('run'), caller({ roles: ['viewer'] }));
    expect(viewer.page).not.toContain('/fork"');
  });

  it('links to checkpoints that show state, journal, model parameters, size and changes', async () => {
    const model = agent({
      name: 'model',
      state: { initial: () => ({ messages: [{ role: 'user', text: 'Hello?' }] }) },
      async turn(ctx, { messages }) {
        if (messages.length > 1) return ctx.done(messages);
        const text = await ctx.step('ask', () => 'Good day.', { model: { id: 'large', temperature: 0.2 } });
        return { messages: [...messages, { role: 'assistant', text }] };
      },
    });
    const { start, get, operator } = consoleScene(model);
    await start(undefined, { id: 'run' });
    const { checkpoints } = await operator.history('run');
    const requestVersion = checkpoints.find(({ step }) => step?.includes('ask'))?.version ?? 0;
    const { page } = await get(PATHS.checkpoint('run', requestVersion));
    for (const part of ['Model parameters id large temperature 0.2', 'Journal', 'write unit', 'Changes'])
      expect(textOf(page)).toContain(part);
    const after = await get(PATHS.checkpoint('run', requestVersion + 1));
    expect(textOf(after.page)).toMatch(/Conversation user Hello\? assistant Good day\./);
    const diff = await get(`${PATHS.ofRun('run', 'diff')}?before=${requestVersion}&after=${requestVersion + 1}`);
    expect(textOf(diff.page)).toMatch(/\+ messages\[1\] added role assistant text Good day\./);
  });

  it('shows the results that a checkpoint recorded, even if the state did not change', async () => {
    let tries = 0;
    const trip = agent({
      name: 'trip',
      async run(ctx) {
        const seat = await ctx.step('search', () => ({ seat: '4A' }));
        await ctx.step('book', () => {
          if (++tries < 2) throw new Error('The line is busy.');
          return 'booked';
        });
        const { approved } = await ctx.approval('keep', { title: 'Keep it?', approvers: ['user:ann'] });
        return { seat, approved };
      },
    });
    const { start, get, post, skip, operator } = consoleScene(trip);
    await start(undefined, { id: 'trip' });
    await skip({ minutes: 5 });
    await post(PATHS.approval('trip', 'keep'), { answer: 'approve' });
    const { version } = await operator.run('trip');
    const changes: string[] = [];
    for (let after = 2; after <= version; after++)
      changes.push(textOf((await get(`${PATHS.ofRun('trip', 'diff')}?before=${after - 1}&after=${after}`)).page));
    for (const part of [
      /State No changes\. Recorded results \+ search completed step seat 4A/,
      /book failed, will be retried step The line is busy\./,
      /~ book completed step booked/,
      /keep waiting approval/,
      /keep completed approval approved true/,
      /@result completed result/,
    ])
      expect(
        changes.filter((each) => part.test(each)),
        String(part),
      ).toHaveLength(1);
  });

  it('says that an agent has no state, and keeps the time of the current wait counting', async () => {
    const still = agent({ name: 'still', run: (ctx) => ctx.waitForSignal('go') });
    const { start, get, skip } = consoleScene(still);
    await start(undefined, { id: 'still' });
    await skip({ minutes: 3 });
    const { page } = await get(PATHS.run('still'));
    const since = [...page.matchAll(/<time datetime="[^"]+" data-since="(\d+)">([^<]*)<\/time>/g)];
    expect(since.map(([, , elapsed]) => elapsed)).toEqual(['3 min', '3 min', '3 min']);
    expect(textOf(page)).toContain('Total: 3 min');
    expect(textOf(page)).toContain('tenant default');
    const memory = await get(PATHS.checkpoint('still', 1));
    expect(textOf(memory.page)).toContain('State This agent has no state.');
  });

  it('shows the name of a failed step only once', async () => {
    const failing = agent({
      name: 'failing',
      run: (ctx) => ctx.step('book hotel', () => Promise.reject(new Error('x'))),
    });
    const { start, get, skip } = consoleScene(failing);
    await start(undefined, { id: 'run' });
    await skip({ minutes: 1 });
    const { page } = await get(PATHS.run('run'));
    expect(textOf(page)).toContain('book hotel failed attempt');
    expect(textOf(page)).not.toContain('failed attempt book hotel');
  });

  it('lists the journal in the order of completion', async () => {
    const steps = ['zebra', 'ant', 'mole'];
    const zoo = agent({
      name: 'zoo',
      async run(ctx) {
        for (const step of steps) await ctx.step(step, () => step);
      },
    });
    const { start, get, operator } = consoleScene(zoo);
    await start(undefined, { id: 'zoo' });
    const { page } = await get(PATHS.checkpoint('zoo', (await operator.run('zoo')).version));
    const ids = [...page.matchAll(/<details class="result"><summary><span class="id"><bdi>([^<]*)/g)].map(
      ([, id]) => id,
    );
    expect(ids.slice(0, 4)).toEqual(['@input', ...steps]);
  });

  it('links error pages back to the run, or to the list if the run does not exist', async () => {
    const { start, get } = consoleScene(counting);
    await start(undefined, { id: 'run 1/2' });
    const back = `href="${PATHS.run('run 1/2')}">Go to the run`;
    expect((await get(`${PATHS.ofRun('run 1/2', 'diff')}?before=99&after=1`)).page).toContain(back);
    expect((await get(PATHS.checkpoint('run 1/2', 99))).page).toContain(back);
    for (const path of [PATHS.run('none'), PATHS.checkpoint('none', 1)]) {
      const { page } = await get(path);
      expect(page).toContain(`href="${PATHS.runs}">View runs`);
      expect(page).not.toContain('Go to the run');
    }
    expect((await get(PATHS.checkpoint('none', 1), caller({ roles: ['approver'] }))).page).not.toContain('View runs');
  });

  it('responds to missing and forbidden pages with an error page', async () => {
    const { start, get } = consoleScene(counting);
    await start(undefined, { id: 'run' });
    for (const path of [
      PATHS.run('none'),
      PATHS.checkpoint('run', 99),
      PATHS.checkpoint('none', 1),
      '/console/nothing',
    ])
      expect((await get(path)).status, path).toBe(404);
    expect((await get(`${PATHS.checkpoint('run', 1)}?part=state&at=/none`)).status).toBe(404);
    const approver = caller({ roles: ['approver'] });
    for (const path of [
      PATHS.runs,
      PATHS.run('run'),
      PATHS.checkpoint('run', 1),
      PATHS.start,
      PATHS.ofRun('run', 'fork'),
    ])
      expect((await get(path, approver)).status, path).toBe(403);
    expect((await get(PATHS.ofRun('run', 'fork'), caller({ roles: ['viewer'] }))).status).toBe(403);
  });
});

describe('an action on a run', () => {
  const state = (page: string): string => unescaped(/<textarea[^>]*id="state"[^>]*>\n([^<]*)/.exec(page)?.[1] ?? '');

  it('forks with an edited state', async () => {
    const { start, get, post, run, operator } = consoleScene(counting);
    await start(undefined, { id: 'run' });
    const { page } = await get(`${PATHS.ofRun('run', 'fork')}?version=4`);
    const before = JSON.parse(state(page));
    expect(before).toEqual((await operator.checkpoint('run', 4)).state);
    const form = { version: '4', state: JSON.stringify({ ...before, notes: ['edited'] }), id: 'fork', tags: 'a, b' };
    expect(await post(PATHS.ofRun('run', 'fork'), form)).toMatchObject({
      status: 303,
      location: '/console/runs/fork?done=fork',
    });
    expect(await run('fork').result()).toMatchObject({ count: 3, notes: ['edited', 'counted 2', 'counted 3'] });
    expect((await operator.run('fork')).tags).toEqual(['a', 'b']);
    expect(textOf((await get(PATHS.ofRun('fork', 'lineage'))).page)).toMatch(
      /run Succeeded fork Succeeded from checkpoint 4/,
    );
    expect(textOf((await get('/console/runs/fork?done=fork')).page)).toContain('Fork created.');
  });

  it.each(['rewind', 'fork'] as const)('lists the steps that a %s runs again, before it happens', async (action) => {
    const paying = agent({
      name: 'paying',
      async run(ctx) {
        await ctx.step('search', () => 1);
        await ctx.step('<pay>', () => 2, { undo: () => {} });
        await ctx.tool('mail', {}, () => 3);
      },
    });
    const { start, get } = consoleScene(paying);
    await start({}, { id: 'paid' });
    const at = (version: number) => `${PATHS.ofRun('paid', action)}?version=${version}`;
    expect(textOf((await get(at(3))).page)).toMatch(/2 steps will run again .*<pay> step mail tool/);
    expect(textOf((await get(at(5))).page)).toContain('No completed step runs again.');
  });

  it('forks with edited results', async () => {
    const trip = agent({
      name: 'trip',
      state: { initial: () => ({ fare: 0 }) },
      async run(ctx) {
        const fare = await ctx.step('search flights', () => 1200);
        await ctx.update((draft) => {
          draft.fare = fare;
        });
        const failed = await ctx.step('hotel', () => Promise.reject(new FatalError('None.'))).catch(() => 'none');
        const seat = await ctx.waitForSignal('seat');
        return { fare, seat, failed, state: ctx.state };
      },
    });
    const { start, get, post, run, operator } = consoleScene(trip);
    await start(undefined, { id: 'trip' });
    const { version } = await operator.run('trip');
    const fork = `${PATHS.ofRun('trip', 'fork')}?version=${version}`;
    const { page } = await get(fork);
    expect(textOf(page)).toMatch(/Recorded results .*search flights step 1200 .*hotel step failed: .*State \(JSON\)/);
    expect(textOf(page)).toContain(
      'another state affects only code after this checkpoint. To change what the agent did before, edit the results above.',
    );
    expect(textOf((await get(fork.replace('/fork', '/rewind'))).page)).toContain(
      'To change what the agent did before, fork the run',
    );
    expect(page).toMatch(/name="result-0-id" value="search flights"/);
    const same = { version: `${version}`, 'result-0-id': 'search flights', 'result-1-id': 'hotel', state: state(page) };
    expect(await post(PATHS.ofRun('trip', 'fork'), { ...same, 'result-0': '900', id: 'cheap' })).toMatchObject({
      status: 303,
    });
    await post(PATHS.ofRun('cheap', 'signal'), { name: 'seat', value: '"4A"' });
    expect(await run('cheap').result()).toMatchObject({ fare: 900, failed: 'none' });
    const booked = { ...same, 'result-0': '1200', 'result-1': '"Grand"', id: 'grand' };
    await post(PATHS.ofRun('trip', 'fork'), booked);
    await post(PATHS.ofRun('grand', 'signal'), { name: 'seat', value: '"4A"' });
    expect(await run('grand').result()).toMatchObject({ fare: 1200, failed: 'Grand' });
    const wrong = await post(PATHS.ofRun('trip', 'fork'), { ...same, 'result-0': '{', id: 'wrong' });
    expect(wrong.status).toBe(400);
    expect(textOf(wrong.page)).toContain('The result of search flights must be JSON. Line 1');
    expect(wrong.page).toMatch(/<details class="result" open><summary><span class="id"><bdi>search flights/);
    const unknown = await post(PATHS.ofRun('trip', 'fork'), { ...same, results: '{"search": 1}' });
    expect(unknown.status).toBe(400);
    expect(textOf(unknown.page)).toContain(`Results by id must be for ids that are recorded at checkpoint ${version}`);
    expect(textOf(unknown.page)).not.toContain('toolResults');
  });

  it('rewinds with an edited state', async () => {
    const { start, get, post, run } = consoleScene(counting);
    await start(undefined, { id: 'run' });
    const { page } = await get(`${PATHS.ofRun('run', 'rewind')}?version=4`);
    const edited = JSON.stringify({ ...JSON.parse(state(page)), notes: ['again'] });
    expect((await post(PATHS.ofRun('run', 'rewind'), { version: '4', state: edited })).status).toBe(303);
    expect(await run('run').result()).toMatchObject({ notes: ['again', 'counted 2', 'counted 3'] });
    await post(PATHS.ofRun('run', 'rewind'), { version: '4', state: state(page), newKeys: 'true' });
    expect(await run('run').result()).toMatchObject({ notes: ['counted 1', 'counted 2', 'counted 3'] });
  });

  it('asks for the checkpoint before a rewind', async () => {
    const { start, get } = consoleScene(counting);
    await start(undefined, { id: 'run' });
    const { page } = await get(PATHS.ofRun('run', 'rewind'));
    expect(page).toContain('<option value="">Choose a checkpoint</option>');
    expect(page).not.toContain('method="post"');
    expect((await get(`${PATHS.ofRun('run', 'rewind')}?version=2`)).page).toContain('Rewind to checkpoint 2');
  });

  it('rejects invalid JSON with its position, and keeps what the user typed', async () => {
    const { start, post, operator } = consoleScene(counting);
    await start(undefined, { id: 'run' });
    const { version } = await operator.run('run');
    const broken = '{\n  "count": 1,\n  "notes": [,]\n}';
    for (const action of ['fork', 'rewind'] as const) {
      const { status, page } = await post(PATHS.ofRun('run', action), { version: '4', state: broken });
      expect(status).toBe(400);
      expect(textOf(page)).toContain('Line 3, column 13: expected a value');
      expect(state(page)).toBe(broken);
    }
    const node = await post(PATHS.ofRun('run', 'fork'), { version: '4', state: '{"$": ["hologram"]}' });
    expect(node.status).toBe(400);
    expect(textOf(node.page)).toContain('is not a valid document');
    expect((await post(PATHS.ofRun('run', 'fork'), { version: '4', results: '[1]' })).status).toBe(400);
    expect((await post(PATHS.ofRun('run', 'fork'), { version: 'x' })).status).toBe(400);
    expect((await operator.run('run')).version).toBe(version);
  });

  it('sends a signal once, however often its form is submitted', async () => {
    const { start, get, post, run, operator } = consoleScene(waiting);
    await start(undefined, { id: 'run' });
    const { page } = await get(PATHS.ofRun('run', 'signal'));
    expect(page).toContain('id="name" name="name" value="seat"');
    const id = /name="id" value="([^"]+)"/.exec(page)?.[1] ?? '';
    for (let i = 0; i < 2; i++) await post(PATHS.ofRun('run', 'signal'), { name: 'seat', value: '"4A"', id });
    expect(await run('run').result()).toMatchObject({ seat: '4A' });
    const late = await post(PATHS.ofRun('run', 'signal'), { name: 'seat', value: '1' });
    expect(late.status).toBe(409);
    expect((await operator.run('run')).status).toBe('SUCCEEDED');
  });

  it('cancels or retries after a page that explains the effect', async () => {
    const { start, get, post, operator } = consoleScene(waiting);
    await start(undefined, { id: 'run' });
    expect(textOf((await get(PATHS.ofRun('run', 'cancel'))).page)).toContain(
      'Completed steps are undone in reverse order',
    );
    await post(PATHS.ofRun('run', 'cancel'), { reason: 'No longer needed.' });
    expect((await operator.run('run')).status).toBe('CANCELLED');
    const { page } = await get(`${PATHS.run('run')}?done=cancel`);
    expect(textOf(page)).toMatch(/Cancelled No longer needed\./);
    expect(page).not.toMatch(/notice bad|WaitstateError|is being cancelled/);
    const live = '/console/runs/run/changes?version=1&status=ENDING&first=1';
    expect((await get(live)).page).toContain('<div data-key="cancelling" data-quiet data-rev="ended"></div>');
    await start(undefined, { id: 'other' });
    await post(PATHS.ofRun('other', 'signal'), { name: 'seat', value: '"bad"' });
    expect((await operator.run('other')).status).toBe('FAILED');
    expect(await post(PATHS.ofRun('other', 'retry'), {})).toMatchObject({ status: 303 });
    const viewer = caller({ roles: ['viewer', 'approver'] });
    for (const action of ['cancel', 'retry', 'signal', 'rewind', 'fork'] as const)
      expect((await post(PATHS.ofRun('other', action), {}, viewer)).status).toBe(403);
  });
});
