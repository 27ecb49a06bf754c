import type { DataPart } from '../../message/provider-metadata.ts';
import type { JsonObject, JsonValue } from '../../message/json.ts';
import type { ShownOutput, ToolFields, UiFile } from './ui-parts.ts';

/** Fields of the chunks about a tool call. */
type ToolCallChunk = ToolFields & { readonly toolCallId: string };

/**
 * Chunks of AI SDK 7's UI message stream that the encoder creates. They are plain JSON and
 * assignable to AI SDK's `UIMessageChunk`.
 */
export type UiChunk =
  | { readonly type: 'start'; readonly messageId?: string; readonly messageMetadata?: JsonObject }
  | { readonly type: 'start-step' | 'finish-step' | 'reset-step' }
  | {
      readonly type: 'finish';
      readonly finishReason?: UiFinishReason;
      readonly messageMetadata?: JsonObject;
    }
  | { readonly type: 'message-metadata'; readonly messageMetadata: JsonObject }
  | { readonly type: 'abort'; readonly reason?: string }
  | { readonly type: 'error'; readonly errorText: string }
  | { readonly type: 'text-start' | 'reasoning-start'; readonly id: string }
  | { readonly type: 'text-end' | 'reasoning-end'; readonly id: string }
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly id: string; readonly delta: string }
  | UiFile
  | (ToolCallChunk & { readonly type: 'tool-input-start'; readonly toolName: string })
  | {
      readonly type: 'tool-input-delta';
      readonly toolCallId: string;
      readonly inputTextDelta: string;
    }
  | (ToolCallChunk & {
      readonly type: 'tool-input-available';
      readonly toolName: string;
      readonly input: JsonValue;
    })
  | (ToolCallChunk &
      ShownOutput & { readonly type: 'tool-output-available'; readonly preliminary?: boolean })
  | (ToolCallChunk & { readonly type: 'tool-output-error'; readonly errorText: string })
  | {
      readonly type: 'tool-approval-request';
      readonly approvalId: string;
      readonly toolCallId: string;
      readonly reason?: string;
    }
  | {
      readonly type: 'tool-approval-response';
      readonly approvalId: string;
      readonly approved: boolean;
      readonly reason?: string;
    }
  | { readonly type: 'tool-output-denied'; readonly toolCallId: string }
  | UiSource
  | DataPart;

/** Why an answer ended, in AI SDK's words. */
type UiFinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other';

/** AI SDK's part for a source. A chunk of the same shape adds it to a message. */
export type UiSource = { readonly sourceId: string } & (
  | { readonly type: 'source-url'; readonly url: string; readonly title?: string }
  | {
      readonly type: 'source-document';
      readonly mediaType: string;
      readonly title: string;
      readonly filename?: string;
    }
);
