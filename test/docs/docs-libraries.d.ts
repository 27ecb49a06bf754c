// The parts of libraries that the pages in docs use, from their declarations: db0 0.4.1 and
// @opentelemetry/exporter-trace-otlp-http 0.220. The libraries are not installed here.

declare module 'db0' {
  export interface Connector {
    readonly name: string;
  }
  export interface Database {
    readonly dialect: 'postgresql' | 'sqlite' | 'mysql' | 'libsql';
  }
  export function createDatabase(connector: Connector): Database;
}

declare module 'db0/connectors/postgresql' {
  import type { Connector } from 'db0';

  export default function postgresql(options: { readonly url: string }): Connector;
}

declare module '@opentelemetry/exporter-trace-otlp-http' {
  import type { SpanExporter } from '@opentelemetry/sdk-trace-base';

  export interface OTLPExporterOptions {
    readonly url?: string;
    readonly headers?: Readonly<Record<string, string>>;
  }
  export const OTLPTraceExporter: new (options?: OTLPExporterOptions) => SpanExporter;
}
