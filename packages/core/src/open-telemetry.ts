export { openTelemetry, type OpenTelemetryOptions } from './middleware/observe/open-telemetry.ts';
