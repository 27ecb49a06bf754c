import type { JsonValue } from '../../message/json/json.ts';

/**
 * The part of AI SDK's language-model contract that `fromAiSdk` uses (`@ai-sdk/provider` 3 and 4:
 * `LanguageModelV3`, `LanguageModelV4`). It is declared here, so that the package does not have to
 * be installed.
 */
export interface AiSdkLanguageModel {
  readonly specificationVersion: 'v3' | 'v4';
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls: PromiseLike<SupportedUrls> | SupportedUrls;
  doStream(
    options: never,
  ): PromiseLike<{ readonly stream: ReadableStream<{ readonly type: string }> }>;
}

/**
 * Patterns of the URLs that the provider fetches itself, by media type. A media type may be
 * `image/*` or `*`.
 */
export type SupportedUrls = Readonly<Record<string, readonly RegExp[]>>;

type Metadata = Readonly<Record<string, unknown>>;

interface PartBase {
  readonly providerMetadata?: Metadata | undefined;
}

/** Stream parts that the decoder uses. The decoder ignores other parts. */
export type AiSdkPart = PartBase &
  (
    | {
        readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end';
        readonly id: string;
      }
    | {
        readonly type: 'text-delta' | 'reasoning-delta';
        readonly id: string;
        readonly delta: string;
      }
    | {
        readonly type: 'tool-input-start';
        readonly id: string;
        readonly toolName: string;
        readonly providerExecuted?: boolean;
      }
    | { readonly type: 'tool-input-delta'; readonly id: string; readonly delta: string }
    | {
        readonly type: 'tool-call';
        readonly toolCallId: string;
        readonly toolName: string;
        /** Arguments of the tool call as JSON text. */
        readonly input: string;
        readonly providerExecuted?: boolean;
      }
    | {
        readonly type: 'tool-result';
        readonly toolCallId: string;
        readonly toolName: string;
        readonly result: JsonValue;
        readonly isError?: boolean;
        /** Whether a later result replaces this one. */
        readonly preliminary?: boolean;
      }
    | {
        readonly type: 'source';
        readonly sourceType: 'url';
        readonly url: string;
        readonly title?: string;
      }
    | {
        readonly type: 'source';
        readonly sourceType: 'document';
        readonly title: string;
        readonly mediaType: string;
        readonly filename?: string;
      }
    | { readonly type: 'file'; readonly mediaType: string; readonly data: AiSdkFileData }
    | { readonly type: 'response-metadata'; readonly id?: string; readonly modelId?: string }
    | {
        readonly type: 'finish';
        readonly finishReason: AiSdkFinishReason;
        readonly usage: AiSdkUsage;
      }
    | { readonly type: 'error'; readonly error: unknown }
  );

/** Data of a file. V3 sends the data directly, and V4 sends an object with a `type`. */
export type AiSdkFileData =
  | string
  | Uint8Array
  | { readonly type: 'data'; readonly data: string | Uint8Array }
  | { readonly type: 'url'; readonly url: URL };

export interface AiSdkFinishReason {
  readonly unified: string;
  readonly raw: string | undefined;
}

export interface AiSdkUsage {
  readonly inputTokens: {
    readonly total: number | undefined;
    readonly cacheRead: number | undefined;
  };
  readonly outputTokens: {
    readonly total: number | undefined;
    readonly reasoning: number | undefined;
  };
}
