import { fieldsOf } from '../error/agent-error.ts';
import type { ContentBlock, MediaBlock, ToolResult } from './msg.ts';
import { isObjectOrArray, isRecord, type JsonObject, type JsonValue } from './json.ts';

/**
 * Call of a tool that the provider itself runs, such as the provider's web search. A call without
 * `output` and `error` has not ended.
 */
export type HostedTool = {
  readonly id: string;
  readonly name: string;
  readonly input: JsonValue;
  /** `null` if the tool has ended and the provider does not report its output. */
  readonly output?: JsonValue;
  /** Text of the error, if the tool failed. */
  readonly error?: string;
};

/** Source that a reply cites. */
export type Source =
  | { readonly type: 'url'; readonly url: string; readonly title?: string }
  | {
      readonly type: 'document';
      readonly title: string;
      readonly mediaType: string;
      readonly filename?: string;
    };

/**
 * Returns the hosted tool call that a block represents. `undefined` if the block represents none.
 */
export function hostedToolOf(
  block: Pick<ContentBlock, 'providerMetadata'>,
): HostedTool | undefined {
  const hosted = block.providerMetadata?.['hostedTool'];
  return isObjectOrArray(hosted) ? (hosted as unknown as HostedTool) : undefined;
}

/** Returns whether the call of a hosted tool has its result. */
export function hasEnded({ output, error }: HostedTool): boolean {
  return output !== undefined || error !== undefined;
}

/** Key of the fields that `withOrigin` keeps. */
export const keptKey = 'chatCompletions';

/**
 * Returns provider metadata with fields of a reply or a call that only their server may get back.
 * `origin`: host of that server.
 */
export function withOrigin(origin: string, fields: JsonObject): JsonObject {
  return { [keptKey]: { origin, fields } };
}

/** Returns the fields that a block keeps for the server on the host `origin`. */
export function fieldsFor(
  origin: string | undefined,
  { providerMetadata }: Pick<ContentBlock, 'providerMetadata'>,
): JsonObject {
  const { origin: storedOrigin, fields } = fieldsOf(providerMetadata?.[keptKey]);
  const isForOrigin = origin !== undefined && storedOrigin === origin;
  return isForOrigin && isRecord(fields) ? (fields as JsonObject) : {};
}

/**
 * Returns the fields of an image block that say how closely the model looks at the image, such as
 * `low`. The names are those of AI SDK. `auto` is what servers do without the fields.
 */
export function imageDetailFields(detail: unknown): Pick<MediaBlock, 'providerMetadata'> {
  const isChosen = typeof detail === 'string' && detail !== 'auto';
  return isChosen ? { providerMetadata: { openai: { imageDetail: detail } } } : {};
}

/** Returns how closely the model looks at an image, if the block says so. */
export function imageDetailOf({ providerMetadata }: MediaBlock): string | undefined {
  const detail = fieldsOf(providerMetadata?.['openai'])['imageDetail'];
  return typeof detail === 'string' ? detail : undefined;
}

/** Returns the sources that a block cites. */
export function sourcesOf({ providerMetadata }: ContentBlock): readonly Source[] {
  const sources = providerMetadata?.['sources'];
  return Array.isArray(sources) ? (sources as unknown as readonly Source[]) : [];
}

/**
 * Typed data that a tool shows to the user: AI SDK's `data-NAME` part. A tool sends it with
 * `emit()`.
 */
export type DataPart<Name extends string = string, Data = JsonValue> = {
  readonly type: `data-${Name}`;
  readonly data: Data;
  /** Id within the answer. A later part with the same type and id replaces this part. */
  readonly id?: string;
  /**
   * Whether the part only makes an event and does not become a part of the answer. Default: false.
   */
  readonly transient?: boolean;
};

/** Returns whether a tool's progress is a data part. */
export function isDataPart(value: unknown): value is DataPart {
  const { type, data, id = '', transient = false } = fieldsOf(value);
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
export function dataPartKey({
  type,
  id,
}: Pick<DataPart, 'type'> & { readonly id?: string | undefined }): string {
  return `${type} ${id}`;
}
