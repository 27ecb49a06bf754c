import type { FileUIPart, TextUIPart, UIMessage } from './ui-message.ts';

type ToolMetadata = Extract<UIMessage['parts'][number], { toolCallId: string }>['toolMetadata'];

/** Fields that chunks about a tool call may have. */
interface OfCall extends OfProvider {
  readonly toolCallId: string;
  /** Whether the types of the tool are unknown. The part is then a `dynamic-tool`. */
  readonly dynamic?: boolean;
  readonly providerExecuted?: boolean;
  readonly toolMetadata?: ToolMetadata;
  readonly title?: string;
}

interface OfProvider {
  readonly providerMetadata?: TextUIPart['providerMetadata'];
}

/** Chunk of the UI message stream of AI SDK 7. */
export type UIMessageChunk =
  | { readonly type: 'start'; readonly messageId?: string; readonly messageMetadata?: unknown }
  | { readonly type: 'finish'; readonly finishReason?: string; readonly messageMetadata?: unknown }
  | { readonly type: 'message-metadata'; readonly messageMetadata: unknown }
  | { readonly type: 'start-step' | 'finish-step' | 'reset-step' }
  | { readonly type: 'abort'; readonly reason?: string }
  | { readonly type: 'error'; readonly errorText: string }
  | (OfProvider & { readonly type: 'text-start' | 'reasoning-start'; readonly id: string })
  | (OfProvider & {
      readonly type: 'text-delta' | 'reasoning-delta';
      readonly id: string;
      readonly delta: string;
    })
  | (OfProvider & {
      readonly type: 'text-end' | 'reasoning-end';
      readonly id: string;
      readonly citations?: TextUIPart['citations'];
    })
  | (OfCall & {
      readonly type: 'tool-input-start';
      readonly toolName: string;
      readonly inputEncoding?: 'json' | 'text';
    })
  | {
      readonly type: 'tool-input-delta';
      readonly toolCallId: string;
      readonly inputTextDelta: string;
    }
  | (OfCall & {
      readonly type: 'tool-input-available';
      readonly toolName: string;
      readonly input: unknown;
    })
  | (OfCall & {
      readonly type: 'tool-input-error';
      readonly toolName: string;
      readonly input: unknown;
      readonly errorText: string;
    })
  | (OfCall & {
      readonly type: 'tool-output-available';
      readonly output: unknown;
      readonly preliminary?: boolean;
    })
  | (OfCall & { readonly type: 'tool-output-error'; readonly errorText: string })
  | { readonly type: 'tool-output-denied'; readonly toolCallId: string }
  | {
      readonly type: 'tool-approval-request';
      readonly approvalId: string;
      readonly toolCallId: string;
      readonly approvalDescriptor?: unknown;
      readonly inputSchemaInput?: unknown;
      readonly reason?: string;
      readonly isAutomatic?: boolean;
      readonly signature?: string;
    }
  | (OfProvider & {
      readonly type: 'tool-approval-response';
      readonly approvalId: string;
      readonly approved: boolean;
      readonly reason?: string;
      readonly providerExecuted?: boolean;
    })
  | (OfProvider & {
      readonly type: 'file' | 'reasoning-file';
      readonly mediaType: string;
      readonly url: string;
    })
  | (OfProvider & {
      readonly type: 'source-url';
      readonly sourceId: string;
      readonly url: string;
      readonly title?: string;
    })
  | (OfProvider & {
      readonly type: 'source-document';
      readonly sourceId: string;
      readonly mediaType: string;
      readonly title: string;
      readonly filename?: string;
    })
  | (OfProvider & { readonly type: 'custom'; readonly kind: `${string}.${string}` })
  | {
      readonly type: 'steering-message';
      readonly id: string;
      readonly parts: (TextUIPart | FileUIPart)[];
    }
  | {
      readonly type: `data-${string}`;
      readonly id?: string;
      readonly data: unknown;
      readonly transient?: boolean;
    };
