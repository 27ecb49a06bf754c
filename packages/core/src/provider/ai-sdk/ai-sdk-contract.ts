/**
 * Part of AI SDK's language-model contract that we use (`@ai-sdk/provider` 3 and 4:
 * `LanguageModelV3`, `LanguageModelV4`). It is declared structurally, so the package does not have
 * to be installed.
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

/** Media types, `image/*` or `*`, with patterns of the URLs that the provider fetches itself. */
export type SupportedUrls = Readonly<Record<string, readonly RegExp[]>>;

type Metadata = Readonly<Record<string, unknown>>;

interface PartBase {
  readonly providerMetadata?: Metadata | undefined;
}

/** Stream parts that the decoder uses; it ignores others. */
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
        /** JSON text. */
        readonly input: string;
        readonly providerExecuted?: boolean;
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

/** Data of a file: V3 sends the bytes directly, V4 tags them. */
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
