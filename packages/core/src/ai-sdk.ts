export { fromAiSdk } from './model/ai-sdk-model.ts';
export type { FromAiSdkOptions } from './model/ai-sdk-model.ts';
export type { AiSdkLanguageModel } from './model/ai-sdk-contract.ts';
export { createUiMessageEncoder, parseErrorText } from './stream/ui-message-encoder.ts';
export type { UiMessageEncoder, UiMessageEncoderOptions } from './stream/ui-message-encoder.ts';
export { fromUiMessage, toUiMessages } from './stream/ui-messages.ts';
export type { UiMessage, UiPart } from './stream/ui-messages.ts';
export { toTimelineEvent } from './stream/timeline-event.ts';
export type { UiChunk } from './stream/ui-chunk.ts';
