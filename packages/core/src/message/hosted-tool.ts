import type { ContentBlock } from './content-block.ts';
import { isRecord } from './json/is-record.ts';
import type { JsonObject, JsonValue } from './json/json.ts';

/**
 * Call of a tool that the provider itself runs, such as the provider's web search. A call without
 * `output` and `error` has not ended.
 */
export interface HostedTool {
  readonly id: string;
  readonly name: string;
  readonly input: JsonValue;
  /** `null` if the tool has ended and the provider does not report its output. */
  readonly output?: JsonValue;
  /** Text of the error, if the tool failed. */
  readonly error?: string;
}

/** Source that a reply cites. */
export type Source =
  | {
      readonly type: 'url';
      readonly url: string;
      readonly title?: string;
    }
  | {
      readonly type: 'document';
      readonly title: string;
      readonly mediaType: string;
      readonly filename?: string;
    };

/** Returns metadata for a block that represents the call of a hosted tool. */
export function hostedToolMetadata(hostedTool: HostedTool): JsonObject {
  return { hostedTool: { ...hostedTool } };
}

/** Returns metadata for a text block that cites sources. */
export function sourcesMetadata(sources: readonly Source[]): JsonObject {
  return { sources: sources.map((source) => ({ ...source })) };
}

/**
 * Returns the hosted tool call that a block represents. `undefined` if the block represents none.
 */
export function hostedToolOf({
  providerMetadata,
}: Pick<ContentBlock, 'providerMetadata'>): HostedTool | undefined {
  const hosted = providerMetadata?.['hostedTool'];
  return isRecord(hosted) ? (hosted as unknown as HostedTool) : undefined;
}

/** Returns whether the call of a hosted tool has its result. */
export function hasEnded({ output, error }: HostedTool): boolean {
  return output !== undefined || error !== undefined;
}

/** Returns the sources that a block cites. */
export function sourcesOf({ providerMetadata }: ContentBlock): readonly Source[] {
  const sources = providerMetadata?.['sources'];
  return Array.isArray(sources) ? (sources as unknown as readonly Source[]) : [];
}
