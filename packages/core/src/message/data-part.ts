import type { ToolResult } from './content-block.ts';
import { isRecord } from './json/is-record.ts';
import type { JsonValue } from './json/json.ts';

/**
 * Typed data that a tool shows to the user: AI SDK's `data-NAME` part. A tool sends it with
 * `emit()`.
 */
export type DataPart<Name extends string = string, Data extends JsonValue = JsonValue> = {
  readonly type: `data-${Name}`;
  readonly data: Data;
  /** Id within the answer. A later part with the same type and id replaces this part. */
  readonly id?: string;
  /** Whether the part only makes an event and does not become a part of the answer. Default: false. */
  readonly transient?: boolean;
};

/** Returns whether a tool's progress is a data part. */
export function isDataPart(value: unknown): value is DataPart {
  const { type, data, id = '', transient = false } = isRecord(value) ? value : {};
  return (
    typeof type === 'string' &&
    /^data-./.test(type) &&
    data !== undefined &&
    typeof id === 'string' &&
    typeof transient === 'boolean'
  );
}

/** Returns a tool result that keeps data parts. */
export function withDataParts(result: ToolResult, parts: readonly DataPart[]): ToolResult {
  if (!parts.length) return result;
  return { ...result, providerMetadata: { ...result.providerMetadata, dataParts: parts } };
}

/** Returns the data parts that a tool result keeps. */
export function dataPartsOf({ providerMetadata }: ToolResult): readonly DataPart[] {
  const parts = providerMetadata?.['dataParts'];
  return Array.isArray(parts) ? (parts as unknown as readonly DataPart[]) : [];
}

/** Returns a text that is the same for parts of which the later one replaces the earlier one. */
export function dataPartKey({ type, id }: DataPart): string {
  return `${type} ${id}`;
}
