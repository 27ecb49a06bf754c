export { jsonlTrace } from './jsonl-trace.ts';
export type { JsonlTrace, JsonlTraceOptions } from './jsonl-trace.ts';
export { metrics } from './metrics.ts';
export type {
  AgentCallMetric,
  ContextMetric,
  Metrics,
  MetricsOptions,
  ModelMetric,
  ToolMetric,
} from './metrics.ts';
export { traceChanges } from './trace-changes.ts';
export type { EventChange, TracedAgentEvent } from './trace-changes.ts';
