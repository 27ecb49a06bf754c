import {
  createMessage,
  type AgentError,
  type ContentBlock,
  type Msg,
  type ToolUse,
} from '@isoloop/core';
import { isRecord } from '@isoloop/core/message';
import { fieldError, acceptMessage, argumentsIn, imageDetailFields } from '@isoloop/core/host';

/**
 * Converts the `messages` of a chat-completions request to a conversation. Accepts system and
 * developer messages, user messages with text and images, assistant messages with tool calls, and
 * tool results. Throws `INVALID_INPUT` for any other message. The error names the message by its
 * index.
 */
export function fromOpenAiMessages(messages: readonly unknown[]): readonly Msg[] {
  if (!messages.length) throw fieldError('messages', 'must have at least one message');
  const names = new Map<string, string>();
  return messages.map((message, index) =>
    acceptMessage(fromMessage(message, index, names), {
      sender: 'client',
      errorOf: (field, problem) => messageError(index, `has a wrong \`${field}\`: it ${problem}`),
    }),
  );
}

function fromMessage(message: unknown, index: number, names: Map<string, string>): Msg {
  if (!isRecord(message)) throw messageError(index, 'is not an object');
  const { role, content, name } = message;
  const options = typeof name === 'string' ? { name } : {};
  switch (role) {
    case 'system':
    case 'developer':
      return createMessage('system', fromContent(content, index), options);
    case 'user':
      return createMessage('user', fromContent(content, index), options);
    case 'assistant': {
      const text = content == null ? [] : fromContent(content, index);
      const toolUses = fromToolCalls(message['tool_calls'], index);
      for (const { id, name: toolName } of toolUses) names.set(id, toolName);
      return createMessage('assistant', [...text, ...toolUses], options);
    }
    case 'tool': {
      const toolUseId = message['tool_call_id'];
      if (typeof toolUseId !== 'string') throw messageError(index, 'has no `tool_call_id`');
      const output = fromContent(content, index);
      return createMessage('tool', [
        {
          type: 'tool_result',
          toolUseId,
          name: names.get(toolUseId) ?? '',
          output,
          state: 'success',
        },
      ]);
    }
    default:
      throw messageError(index, `has the role ${JSON.stringify(role)}`);
  }
}

function fromContent(content: unknown, index: number): readonly ContentBlock[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) throw messageError(index, 'has no content');
  return content.map((part: unknown) => fromPart(part, index));
}

function fromPart(part: unknown, index: number): ContentBlock {
  const { type, text, refusal, image_url: image } = isRecord(part) ? part : {};
  if (type === 'text' && typeof text === 'string') return { type: 'text', text };
  if (type === 'refusal' && typeof refusal === 'string') return { type: 'text', text: refusal };
  const { url, detail } = isRecord(image) ? image : {};
  if (type === 'image_url' && typeof url === 'string')
    return { type: 'image', source: { type: 'url', url }, ...imageDetailFields(detail) };
  throw messageError(index, `has a content part of an unsupported type: ${JSON.stringify(type)}`);
}

function fromToolCalls(calls: unknown, index: number): readonly ToolUse[] {
  if (calls == null) return [];
  if (!Array.isArray(calls)) throw messageError(index, 'has `tool_calls` that are not an array');
  return calls.map((call: unknown) => {
    const { id, function: functionCall } = isRecord(call) ? call : {};
    const { name, arguments: text } = isRecord(functionCall) ? functionCall : {};
    if (typeof id !== 'string' || typeof name !== 'string' || typeof text !== 'string')
      throw messageError(index, 'has a malformed tool call');
    return { type: 'tool_use', id, name, ...argumentsIn(text) };
  });
}

function messageError(index: number, problem: string): AgentError {
  return fieldError(`messages[${index}]`, problem);
}
