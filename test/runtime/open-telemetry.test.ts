import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { build } from 'esbuild';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { openTelemetrySpans } from '../../lambda/opentelemetry.ts';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import { testAgents } from '../../lambda/testing.ts';

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
trace.setGlobalTracerProvider(provider);
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());

afterAll(() => {
  trace.disable();
  context.disable();
});
beforeEach(() => exporter.reset());

const spans = () => exporter.getFinishedSpans();
const spanOf = (name: string): ReadableSpan => {
  const found = spans().find((span) => span.name === name);
  if (!found) throw new Error(`No span ${name}; found ${spans().map((span) => span.name)}.`);
  return found;
};

const model = { id: 'anthropic.claude', temperature: 0.2, topP: 0.9, seed: 7, maxTokens: 500, region: 'eu' };

const assistant = agent({
  name: 'assistant',
  async run(ctx, input: { question: string }) {
    const answer = await ctx.step('ask', async () => `SECRET ${input.question}`, { model });
    await ctx.sleep('rest', { days: 3 });
    await ctx.tool('search', { query: 'SECRET' }, async () => {
      trace.getActiveSpan()?.setAttribute('inner', true);
    });
    return answer;
  },
});

describe('spans of OpenTelemetry', () => {
  it('belong to one trace for all invocations of a run, even days apart', async () => {
    const world = testAgents(assistant, { spans: openTelemetrySpans() });
    const run = await world.start({ question: 'why' }, { id: 'r-1' });
    expect(await run.status()).toBe('SLEEPING');
    await world.skip({ days: 3 });
    expect(await run.result()).toBe('SECRET why');
    const other = await world.start({ question: 'how' }, { id: 'r-2' });
    expect(await other.status()).toBe('SLEEPING');
    const invocations = spans().filter(({ name }) => name === 'invoke_agent assistant');
    expect(invocations.map(({ attributes }) => [attributes['waitstate.run'], attributes['waitstate.end']])).toEqual([
      ['r-1', 'suspended'],
      ['r-1', 'finished'],
      ['r-2', 'suspended'],
    ]);
    const traces = Map.groupBy(spans(), (span) => span.spanContext().traceId);
    expect([...traces.values()].map((each) => each.length)).toEqual([4, 2]);
    for (const { parentSpanContext } of invocations) expect(parentSpanContext).toMatchObject({ isRemote: true });
  });

  it('are inside their invocation for steps, and a replayed step has none', async () => {
    const world = testAgents(assistant, { spans: openTelemetrySpans() });
    const run = await world.start({ question: 'why' }, { id: 'r-1' });
    await world.skip({ days: 3 });
    await run.result();
    expect(spans().map(({ name }) => name)).toEqual([
      ...['chat anthropic.claude', 'invoke_agent assistant', 'execute_tool search', 'invoke_agent assistant'],
    ]);
    const [first, second] = spans().filter(({ name }) => name === 'invoke_agent assistant');
    expect(spanOf('chat anthropic.claude').parentSpanContext?.spanId).toBe(first?.spanContext().spanId);
    expect(spanOf('execute_tool search').parentSpanContext?.spanId).toBe(second?.spanContext().spanId);
    // Instrumentation inside a step finds its span.
    expect(spanOf('execute_tool search').attributes.inner).toBe(true);
  });

  it('have the GenAI attributes of the recorded parameters for a step that calls a model', async () => {
    const world = testAgents(assistant, { spans: openTelemetrySpans() });
    await world.start({ question: 'why' }, { id: 'r-1' });
    const { kind, attributes } = spanOf('chat anthropic.claude');
    expect(kind).toBe(SpanKind.CLIENT);
    expect(attributes).toEqual({
      'waitstate.step': 'ask',
      'waitstate.attempt': 1,
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'anthropic.claude',
      'gen_ai.request.temperature': 0.2,
      'gen_ai.request.top_p': 0.9,
      'gen_ai.request.seed': 7,
      'gen_ai.request.max_tokens': 500,
    });
  });

  it('contain the type of an error and never its message, an input or a result', async () => {
    const failing = agent({
      name: 'failing',
      async run(ctx) {
        await ctx.step(
          'pay',
          () => {
            throw new RangeError('SECRET');
          },
          { retry: { maxAttempts: 1 } },
        );
      },
    });
    const world = testAgents(failing, { spans: openTelemetrySpans() });
    await expect((await world.start(undefined, { id: 'r' })).result()).rejects.toThrow();
    const { status, attributes, events } = spanOf('pay');
    expect([status, attributes['error.type'], events]).toEqual([{ code: SpanStatusCode.ERROR }, 'RangeError', []]);
    const all = testAgents(assistant, { spans: openTelemetrySpans() });
    await all.start({ question: 'why' });
    expect(JSON.stringify(spans().map(({ name, attributes: each }) => [name, each]))).not.toContain('SECRET');
  });

  it('link to the trace of the function', async () => {
    const platform = provider.getTracer('lambda').startSpan('function');
    await context.with(trace.setSpan(context.active(), platform), () =>
      openTelemetrySpans().invocation({ tenant: 'default', run: 'r', agent: 'a' }, async () => ({ end: 'finished' })),
    );
    platform.end();
    expect(spanOf('invoke_agent a').links.map((link) => link.context.spanId)).toEqual([platform.spanContext().spanId]);
  });

  it('are off by default, and an agent then loads nothing of OpenTelemetry', async () => {
    const world = testAgents(assistant);
    await world.start({ question: 'why' }, { id: 'r-1' });
    expect(spans()).toEqual([]);
    const { metafile } = await build({
      entryPoints: ['lambda/index.ts'],
      bundle: true,
      write: false,
      metafile: true,
      format: 'esm',
      platform: 'node',
      outdir: 'out',
      splitting: true,
      external: ['@aws-sdk/*'],
    });
    expect(Object.keys(metafile.inputs).filter((file) => /open-?telemetry/.test(file))).toEqual([]);
  });
});
