import type { UIMessage } from './ui-message.ts';

type ToolMetadata = Extract<UIMessage['parts'][number], { toolCallId: string }>['toolMetadata'];

/** Fields that chunks about a tool call may have. */
interface CallFields {
  readonly toolCallId: string;
  /** Whether the types of the tool are unknown. The part is then a `dynamic-tool`. */
  readonly dynamic?: boolean;
  readonly providerExecuted?: boolean;
  readonly toolMetadata?: ToolMetadata;
}

/** Chunk of the UI message stream of AI SDK 7, without what no agent sends. */
export type UIMessageChunk =
  | { readonly type: 'start'; readonly messageId?: string; readonly messageMetadata?: unknown }
  | { readonly type: 'finish'; readonly finishReason?: string; readonly messageMetadata?: unknown }
  | { readonly type: 'message-metadata'; readonly messageMetadata: unknown }
  | { readonly type: 'start-step' | 'finish-step' | 'reset-step' }
  | { readonly type: 'abort'; readonly reason?: string }
  | { readonly type: 'error'; readonly errorText: string }
  | { readonly type: 'text-start' | 'reasoning-start'; readonly id: string }
  | { readonly type: 'text-end' | 'reasoning-end'; readonly id: string }
  | {
      readonly type: 'text-delta' | 'reasoning-delta';
      readonly id: string;
      readonly delta: string;
    }
  | (CallFields & { readonly type: 'tool-input-start'; readonly toolName: string })
  | {
      readonly type: 'tool-input-delta';
      readonly toolCallId: string;
      readonly inputTextDelta: string;
    }
  | (CallFields & {
      readonly type: 'tool-input-available';
      readonly toolName: string;
      readonly input: unknown;
    })
  | (CallFields & {
      readonly type: 'tool-output-available';
      readonly output: unknown;
      readonly preliminary?: boolean;
    })
  | (CallFields & { readonly type: 'tool-output-error'; readonly errorText: string })
  | { readonly type: 'tool-output-denied'; readonly toolCallId: string }
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
  | { readonly type: 'file'; readonly mediaType: string; readonly url: string }
  | {
      readonly type: 'source-url';
      readonly sourceId: string;
      readonly url: string;
      readonly title?: string;
    }
  | {
      readonly type: 'source-document';
      readonly sourceId: string;
      readonly mediaType: string;
      readonly title: string;
      readonly filename?: string;
    }
  | {
      readonly type: `data-${string}`;
      readonly id?: string;
      readonly data: unknown;
      readonly transient?: boolean;
    };
