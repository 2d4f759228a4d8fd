export { type OpenTelemetrySpansOptions, openTelemetrySpans } from './runtime/open-telemetry.ts';
export type { InvocationSpan, Spans, StepSpan } from './runtime/spans.ts';
