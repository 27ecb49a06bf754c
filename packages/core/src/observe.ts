export { hideSecrets, logText } from './error/log-text.ts';
export { maskSecrets } from './error/mask-secrets.ts';
export { jsonlTrace } from './observe/jsonl-trace.ts';
export type { JsonlTrace, JsonlTraceOptions } from './observe/jsonl-trace.ts';
export { maskParameters } from './observe/mask-parameters.ts';
export { metrics } from './observe/metrics.ts';
export type {
  ContextMetric,
  ExecutionMetric,
  Metrics,
  MetricsOptions,
  ModelMetric,
  RunLabels,
  ToolMetric,
} from './observe/metrics.ts';
