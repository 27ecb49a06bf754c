import { argumentsOf } from '../formatter.ts';
import { toolResultsOf, toolUsesOf } from '../../message/msg.ts';
import type { ContentBlock, MediaBlock, ToolResult, ToolUse, Msg } from '../../message/msg.ts';
import {
  inlineSource,
  isMedia,
  mediaPlaceholder,
  contentText,
  toUrl,
} from '../../message/media.ts';
import type { OpenAiFormat } from './openai-formatter.ts';

type MessageFormat = Pick<OpenAiFormat, 'features' | 'sendThinking'>;

/** Object to send as JSON. A field that is `undefined` is left out. */
export type WireObject = Readonly<Record<string, unknown>>;

/**
 * Converts one message to the wire format. Each tool result becomes a separate message. The `name`
 * of an assistant is left out, because its role already names the speaker and several servers
 * reject the field.
 */
export function toWireMessages(message: Msg, format: MessageFormat): readonly WireObject[] {
  const { role, name, content } = message;
  if (role === 'assistant') return [toWireAssistant(message, format)];
  const results = toolResultsOf(message).map(toWireResult);
  const rest = content.filter((block) => block.type !== 'tool_result');
  if (!rest.length && (results.length || role === 'tool')) return results;
  return [
    ...results,
    {
      role: role === 'tool' ? 'user' : role,
      // OpenAI rejects other names of a speaker.
      name: /^[^\s<|\\/>]{1,64}$/u.test(name ?? '') ? name : undefined,
      content: role === 'system' ? contentText(rest) : toWireContent(rest, format),
    },
  ];
}

function toWireAssistant(message: Msg, { sendThinking }: MessageFormat): WireObject {
  const { content } = message;
  const calls = toolUsesOf(message).map(toWireCall);
  const thinking = content.flatMap((block) => (block.type === 'thinking' ? block.thinking : []));
  return {
    role: 'assistant',
    content: contentText(content) || (calls.length ? null : ''),
    reasoning_content: (sendThinking && thinking.join('\n')) || undefined,
    tool_calls: calls.length ? calls : undefined,
  };
}

export function toWireCall(call: ToolUse): WireObject {
  const { id, name, providerMetadata } = call;
  return {
    id,
    type: 'function',
    function: { name, arguments: argumentsOf(call) },
    extra_content: providerMetadata?.['extra_content'],
  };
}

function toWireResult({ toolUseId, output }: ToolResult): WireObject {
  return {
    role: 'tool',
    tool_call_id: toolUseId,
    content: contentText(output),
  };
}

/**
 * Returns text as a string, which every server accepts. Returns an array of parts only if the
 * content has media.
 */
function toWireContent(
  content: readonly ContentBlock[],
  format: MessageFormat,
): string | readonly WireObject[] {
  const parts = content.flatMap((block): WireObject[] => {
    if (block.type === 'text') return [{ type: 'text', text: block.text }];
    return isMedia(block) ? [toWireMedia(block, format)] : [];
  });
  return parts.every((part) => part['type'] === 'text') ? contentText(content) : parts;
}

function toWireMedia(block: MediaBlock, { features }: MessageFormat): WireObject {
  const { type, name = 'file' } = block;
  const source = inlineSource(block.source);
  if (features.media.includes(type)) {
    if (type === 'image' || type === 'video')
      return { type: `${type}_url`, [`${type}_url`]: { url: toUrl(source) } };
    // The protocol accepts audio and files only as inline data.
    if (source.type === 'base64')
      return type === 'file'
        ? { type: 'file', file: { filename: name, file_data: toUrl(source) } }
        : { type: 'input_audio', input_audio: { data: source.data, format: audioFormat(source) } };
  }
  return { type: 'text', text: mediaPlaceholder(block) };
}

/**
 * Returns the protocol's name of an audio format: `audio/x-wav` is `wav`, `audio/mpeg` is `mp3`.
 */
function audioFormat({ mediaType }: { readonly mediaType: string }): string {
  return /wav|flac|ogg|aac/.exec(mediaType)?.[0] ?? 'mp3';
}
