export { openTelemetry, type OpenTelemetryOptions } from './observe/open-telemetry.ts';
