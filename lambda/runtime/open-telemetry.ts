import { createHash } from 'node:crypto';
import {
  type Attributes,
  type Context,
  context,
  ROOT_CONTEXT,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { ModelParameters } from '../checkpoints/engine.ts';
import { isWaitstateError } from '../core/errors.ts';
import type { InvocationSpan, Spans, StepSpan } from './spans.ts';

export interface OpenTelemetrySpansOptions {
  /** @default the tracer `waitstate` of the provider that your program registers */
  readonly tracer?: Tracer;
}

/**
 * Spans of OpenTelemetry. All invocations of a run belong to one trace, however many days are between them. Steps that
 * call a model, and tools, have the attributes of the semantic conventions for generative AI.
 * https://opentelemetry.io/docs/specs/semconv/gen-ai/
 */
export function openTelemetrySpans({ tracer = trace.getTracer('waitstate') }: OpenTelemetrySpansOptions = {}): Spans {
  const withSpan = <T>(
    name: string,
    options: SpanOptions,
    parent: Context,
    work: () => Promise<T>,
    resultAttributes: (result: T) => Attributes = () => ({}),
  ): Promise<T> => {
    const span = tracer.startSpan(name, options, parent);
    return context.with(trace.setSpan(parent, span), async () => {
      try {
        const result = await work();
        span.setAttributes(resultAttributes(result));
        return result;
      } catch (error) {
        // Without its message, which may contain personal data.
        span.setAttribute('error.type', errorType(error));
        span.setStatus({ code: SpanStatusCode.ERROR });
        throw error;
      } finally {
        span.end();
      }
    });
  };
  return {
    invocation: (about, work) =>
      withSpan(`invoke_agent ${about.agent}`, invocationOptions(about), runContext(about), work, ({ end }) => ({
        'waitstate.end': end,
      })),
    step: (about, work) => withSpan(stepSpanName(about), stepOptions(about), context.active(), work),
  };
}

/**
 * The context of a run. Its trace id is derived from the ids of the run, so that every process finds the same one and
 * nothing is stored.
 */
function runContext({ tenant, run }: InvocationSpan): Context {
  const hash = createHash('sha256')
    .update(JSON.stringify([tenant, run]))
    .digest('hex');
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId: hash.slice(0, 32),
    spanId: hash.slice(32, 48),
    traceFlags: TraceFlags.SAMPLED,
    isRemote: true,
  });
}

/** The span links to the trace of the function, in which the platform shows the invocation. */
function invocationOptions({ tenant, run, agent }: InvocationSpan): SpanOptions {
  const platform = trace.getSpanContext(context.active());
  return {
    kind: SpanKind.INTERNAL,
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': agent,
      'waitstate.tenant': tenant,
      'waitstate.run': run,
    },
    ...(platform && { links: [{ context: platform }] }),
  };
}

const stepSpanName = ({ name, kind, model }: StepSpan): string => {
  if (kind === 'tool') return `execute_tool ${name}`;
  return model?.id === undefined ? name : `chat ${model.id}`;
};

const stepOptions = ({ name, kind, attempt, model }: StepSpan): SpanOptions => ({
  kind: model ? SpanKind.CLIENT : SpanKind.INTERNAL,
  attributes: {
    'waitstate.step': name,
    'waitstate.attempt': attempt,
    ...(kind === 'undo' && { 'waitstate.undo': true }),
    ...(kind === 'tool' && { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name }),
    ...(model && modelAttributes(model)),
  },
});

/** The attributes of a model call, from the parameters that the step records. */
function modelAttributes({ id, temperature, topP, seed, maxTokens }: ModelParameters): Attributes {
  const numbers = { temperature, top_p: topP, seed, max_tokens: maxTokens };
  return {
    'gen_ai.operation.name': 'chat',
    ...(id !== undefined && { 'gen_ai.request.model': id }),
    ...Object.fromEntries(
      Object.entries(numbers).flatMap(([name, value]) =>
        typeof value === 'number' ? [[`gen_ai.request.${name}`, value]] : [],
      ),
    ),
  };
}

function errorType(error: unknown): string {
  if (isWaitstateError(error)) return error.code;
  const { name } = Object(error) as { name?: unknown };
  return typeof name === 'string' ? name : '_OTHER';
}
