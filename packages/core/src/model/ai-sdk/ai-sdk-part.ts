import type { LanguageModelV3StreamPart, LanguageModelV4StreamPart } from '@ai-sdk/provider';

/** One part of the stream of a reply. No exported type may use it: the package may be missing. */
export type AiSdkPart = LanguageModelV3StreamPart | LanguageModelV4StreamPart;

/** Parts of the given types. */
export type AiSdkPartOf<Type extends AiSdkPart['type']> = Extract<AiSdkPart, { type: Type }>;
