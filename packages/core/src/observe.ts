export { addSecrets, logText } from './error/log-text.ts';
export { maskSecrets } from './error/mask-secrets.ts';
export { traceChanges } from './middleware/observe/trace-changes.ts';
export type { EventChange, TracedAgentEvent } from './middleware/observe/trace-changes.ts';
export { jsonlTrace } from './middleware/observe/jsonl-trace.ts';
export type { JsonlTrace, JsonlTraceOptions } from './middleware/observe/jsonl-trace.ts';
export { maskParameters } from './middleware/observe/mask-parameters.ts';
export { metrics } from './middleware/observe/metrics.ts';
export type {
  ContextMetric,
  AgentCallMetric,
  Metrics,
  MetricsOptions,
  ModelMetric,
  RunLabels,
  ToolMetric,
} from './middleware/observe/metrics.ts';
