/**
 * The part of AI SDK's language-model contract (`@ai-sdk/provider` 3 and 4: `LanguageModelV3`,
 * `LanguageModelV4`) that we use, structurally, so that neither the package nor its version has to
 * be there.
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

/** Media types or `image/*` or `*`, with the addresses the provider fetches itself. */
export type SupportedUrls = Readonly<Record<string, readonly RegExp[]>>;

type Metadata = Readonly<Record<string, unknown>>;

interface PartBase {
  readonly providerMetadata?: Metadata | undefined;
}

/** The stream parts that carry something for us; others pass by. */
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

/** V3 sends the bytes themselves, V4 tags them. */
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
