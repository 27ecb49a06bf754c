/**
 * The part of AI SDK's language-model contract that callers of `fromAiSdk` see (`@ai-sdk/provider`
 * 3 and 4: `LanguageModelV3`, `LanguageModelV4`). It is declared here, so that the package does not
 * have to be installed.
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
