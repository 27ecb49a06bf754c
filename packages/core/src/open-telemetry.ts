export { openTelemetry, type OpenTelemetryOptions } from './agent/open-telemetry.ts';
