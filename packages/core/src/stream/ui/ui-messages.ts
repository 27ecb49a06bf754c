import { isCorrection, metadataOf, type OperatorMark } from '../../message/metadata.ts';
import { AgentError, fieldsOf } from '../../error/agent-error.ts';
import { checkOptions } from '../../error/options/check-options.ts';
import { array, optional } from '../../error/options/kinds.ts';
import type { OptionTable } from '../../error/options/option-table.ts';
import type { PendingCall } from '../../event/pending-call.ts';
import {
  createMessage,
  toolResultsOf,
  toolUsesOf,
  type ContentBlock,
  type MediaBlock,
  type ThinkingBlock,
  type ToolResult,
  type ToolUse,
  type MessageContext,
  type Msg,
} from '../../message/msg.ts';
import {
  dataPartKey,
  dataPartsOf,
  hasEnded,
  hostedToolOf,
  type HostedTool,
} from '../../message/provider-metadata.ts';
import { isObjectOrArray, omitUndefined, type JsonObject } from '../../message/json.ts';
import { mediaKind } from '../../message/media/media.ts';
import { acceptSource } from '../../message/untrusted/media-source.ts';
import { addUsage, noUsage, type Usage } from '../../model/chat-model.ts';
import { incompleteReason } from '../../model/finish-reason.ts';
import {
  asksUser,
  deniedReason,
  filesIn,
  interruptedText,
  sourceChunks,
  toFilePart,
  hostedOutcome,
  resultOutcome,
} from './ui-parts.ts';
import type { UIMessage, UIMessagePart } from './ui-message.ts';

/**
 * Converts a conversation to messages for `useChat`. All replies to a user message become one
 * assistant message, with a `step-start` for each reply. A tool result becomes a part of its tool
 * call, and so do its files and data parts. In the metadata, `usage` is the sum over the replies,
 * and `incomplete` says why the last reply may not be whole. System messages, replies that were
 * corrected, and the corrections are left out. If a tool call in `pending` waits for approval, it
 * becomes an approval request with the same id.
 */
export function toUiMessages(
  messages: readonly Msg[],
  options: { readonly pending?: readonly PendingCall[] } = {},
): UIMessage<JsonObject>[] {
  checkOptions('toUiMessages()', options, toUiMessagesOptions, 'INVALID_INPUT');
  const { pending = [] } = options;
  const pendingById = new Map(pending.map((call) => [call.toolUseId, call]));
  const results = new Map(messages.flatMap(toolResultsOf).map((one) => [one.toolUseId, one]));
  const uiMessages: UIMessage<JsonObject>[] = [];
  for (const message of messages) {
    if (isCorrection(message)) continue;
    if (message.role === 'user')
      uiMessages.push({
        id: message.id,
        role: 'user',
        parts: message.content.flatMap((block) => toPart(block, results, pendingById)),
      });
    if (message.role !== 'assistant') continue;
    const { operator, partial } = metadataOf(message);
    let answer = uiMessages.at(-1);
    if (!isAnswerOf(answer, operator)) {
      answer = { id: message.id, role: 'assistant', parts: [] };
      if (operator) answer.metadata = { operator };
      uiMessages.push(answer);
    }
    const toolResults = toolUsesOf(message).flatMap(({ id }) => results.get(id) ?? []);
    answer.parts.push({ type: 'step-start' });
    for (const block of message.content) {
      const closed = partial ? withoutOpenTool(block) : block;
      for (const part of toPart(closed, results, pendingById))
        put(answer, part, (one) => isCallOf(part, one));
    }
    answer.parts.push(...sourceChunks(message));
    for (const { type, id = '', data } of toolResults.flatMap(dataPartsOf)) {
      const part = { type, id, data };
      put(answer, part, (one) => 'data' in one && dataPartKey(one) === dataPartKey(part));
    }
    answer.parts.push(...toolResults.flatMap(({ output }) => filesIn(output)));
    addReplyMetadata(answer, message);
  }
  return uiMessages;
}

const toUiMessagesOptions: OptionTable<{ readonly pending?: readonly PendingCall[] }> = {
  pending: optional(array),
};

/** Gives a tool of the provider an error if it was running when its reply broke off. */
function withoutOpenTool(block: ContentBlock): ContentBlock {
  const hosted = hostedToolOf(block);
  if (!hosted || hasEnded(hosted)) return block;
  return { ...block, providerMetadata: { hostedTool: { ...hosted, error: interruptedText } } };
}

/** Returns whether a UI message takes further replies. Each message of an operator stays alone. */
function isAnswerOf(
  message: UIMessage<JsonObject> | undefined,
  operator: OperatorMark | undefined,
): message is UIMessage<JsonObject> {
  return message?.role === 'assistant' && message.metadata?.['operator'] === operator;
}

/** Puts a part in the place of an earlier part, or at the end. */
function put(
  { parts }: UIMessage<JsonObject>,
  part: UIMessagePart,
  isReplaced: (one: UIMessagePart) => boolean,
): void {
  const index = parts.findIndex(isReplaced);
  if (index < 0) parts.push(part);
  else parts[index] = part;
}

/** Returns whether `other` is the call of a provider's tool whose result `part` has. */
function isCallOf(part: UIMessagePart, other: UIMessagePart): boolean {
  return (
    'providerExecuted' in part &&
    'providerExecuted' in other &&
    other.toolCallId === part.toolCallId &&
    other.state === 'input-available'
  );
}

function addReplyMetadata(answer: UIMessage<JsonObject>, message: Msg): void {
  const { usage, imported } = metadataOf(message);
  const incomplete = incompleteReason(message);
  // The last reply of an answer decides.
  if (incomplete || answer.metadata?.['incomplete'])
    answer.metadata = omitUndefined({ ...answer.metadata, incomplete });
  if (imported) answer.metadata = { ...answer.metadata, imported };
  if (!isObjectOrArray(usage)) return;
  const sum = (answer.metadata?.['usage'] ?? noUsage) as Usage;
  answer.metadata = { ...answer.metadata, usage: { ...addUsage(sum, usage as unknown as Usage) } };
}

/**
 * Converts a message that a user posted: its text and files. Throws `INVALID_MESSAGE` for any other
 * value. If a part is invalid, the error names it. The URL of a file must be http, https or a
 * base64 `data:` URL. Messages with the role `assistant` are rejected, because a client must not
 * write them.
 */
export function fromUiMessage(message: unknown, context: MessageContext = {}): Msg {
  const { id, role, parts } = fieldsOf(message);
  if (role !== 'user') throw invalidMessageError('The message is not a user message');
  if (!Array.isArray(parts)) throw invalidMessageError('The message has no parts');
  const content = parts.map((part, index) => fromPart(part, index));
  if (!content.some((block) => block.type !== 'text' || block.text.trim()))
    throw invalidMessageError('The message is empty');
  return createMessage('user', content, {
    ...context,
    ...(typeof id === 'string' && id && { id }),
  });
}

function fromPart(part: unknown, index: number): ContentBlock {
  const { type, text, url, mediaType, filename } = fieldsOf(part);
  if (type === 'text' && typeof text === 'string') return { type: 'text', text };
  if (type === 'file' && typeof url === 'string' && typeof mediaType === 'string') {
    const file: MediaBlock = {
      type: mediaKind(mediaType),
      source: { type: 'url', url, mediaType },
      ...(typeof filename === 'string' && { name: filename }),
    };
    return { ...file, source: acceptSource(file, {}, `content[${index}].source.`) };
  }
  throw invalidMessageError(`Part ${index} is neither text nor a file with a URL and a media type`);
}

function toPart(
  block: ContentBlock,
  results: ReadonlyMap<string, ToolResult>,
  pendingCalls: ReadonlyMap<string, PendingCall>,
): UIMessagePart[] {
  switch (block.type) {
    case 'text':
      return [{ type: 'text', text: block.text, state: 'done' }];
    case 'thinking':
      return fromThinking(block);
    case 'tool_use':
      return [toToolPart(block, results.get(block.id), pendingCalls.get(block.id))];
    case 'tool_result':
      return [];
    default:
      return [toFilePart(block)];
  }
}

/** A block without thinking stands for a tool of the provider, or only holds its metadata. */
function fromThinking(block: ThinkingBlock): UIMessagePart[] {
  const hosted = hostedToolOf(block);
  if (hosted) return [toHostedPart(hosted)];
  return block.thinking ? [{ type: 'reasoning', text: block.thinking, state: 'done' }] : [];
}

function toHostedPart(hostedTool: HostedTool): UIMessagePart {
  const { id, name, input } = hostedTool;
  return {
    type: 'dynamic-tool',
    toolName: name,
    toolCallId: id,
    input,
    providerExecuted: true,
    ...(hostedOutcome(hostedTool) ?? { state: 'input-available' }),
  };
}

function toToolPart(
  { id, name, input, raw }: ToolUse,
  result: ToolResult | undefined,
  pending: PendingCall | undefined,
): UIMessagePart {
  const call = {
    type: 'dynamic-tool' as const,
    toolName: name,
    toolCallId: id,
    input: input ?? raw ?? null,
  };
  if (!result && pending && asksUser(pending)) {
    const { reason } = pending;
    return {
      ...call,
      state: 'approval-requested',
      approval: { id, ...(reason !== undefined && { requestReason: reason }) },
    };
  }
  if (!result) return { ...call, state: 'input-available' };
  if (result.state === 'denied')
    return {
      ...call,
      state: 'output-denied',
      approval: { id, approved: false, reason: deniedReason(result) },
    };
  return { ...call, ...resultOutcome(result) };
}

function invalidMessageError(message: string): AgentError {
  return new AgentError('INVALID_MESSAGE', `${message}.`);
}
