import { argumentsOf } from '../../message/call-arguments.ts';
import { jsonText, type JsonObject } from '../../message/json.ts';
import {
  thinkingOf,
  toolResultsOf,
  toolUsesOf,
  type ContentBlock,
  type MediaBlock,
  type Msg,
  type ToolResult,
  type ToolUse,
} from '../../message/msg.ts';
import { imageDetailOf } from '../../message/provider-metadata.ts';
import type { ModelFeatures, ToolChoice, ToolSchema } from '../chat-model.ts';
import { callIdFitter } from '../formatter/call-ids.ts';
import { fitMessage } from '../formatter/fit-message.ts';
import { jsonWithLists, memoize, type Formatter, type WireObject } from '../formatter/formatter.ts';
import { endWithUser, joinSystem, joinTurns } from '../formatter/join-turns.ts';
import { acceptedSampling } from '../formatter/refused-settings.ts';
import { serverRulesOf } from '../formatter/server-rules.ts';
import { describedTool, isStrict, wireParameters } from '../formatter/strict-schema.ts';
import { replySchema } from '../formatter/wire-schema.ts';
import { OpenAiDecoder } from './openai-decoder.ts';
import { keptFieldsOf } from './kept-fields.ts';
import { ThinkDecoder } from './think-decoder.ts';
import {
  contentText,
  inlineSource,
  isMedia,
  mediaPlaceholder,
  toUrl,
} from '../../message/media/media.ts';

export interface OpenAiFormatterOptions {
  readonly model: string;
  readonly features: ModelFeatures;
  /**
   * Field of the body for `maxTokens`. OpenAI's reasoning models reject `max_tokens`, and most
   * other servers support only `max_tokens`.
   */
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens';
  /** Who gets back the extra fields of its own replies: the host, and the family of the model. */
  readonly origin?: string | undefined;
  /**
   * Whether to send thinking back, as `reasoning_content` or, with `thinkTags`, within the text.
   * DeepSeek requires it; OpenAI does not support it. Default: true for servers known to require
   * it.
   */
  readonly sendThinking?: boolean | undefined;
  /**
   * Whether replies have thinking within the text, in `<think>` tags. Default: true for servers
   * known for it.
   */
  readonly thinkTags?: boolean | undefined;
  /** Whether to request token counts with `stream_options.include_usage`. Default: true. */
  readonly includeUsage?: boolean | undefined;
}

/**
 * Creates a formatter for chat completions. The JSON text of a message or tool is cached as long as
 * its object exists. A long history is therefore not serialized again for each request.
 */
export function openAiFormatter(options: OpenAiFormatterOptions): Formatter {
  const rules = serverRulesOf(options.origin ?? '', options.model);
  const format = {
    ...options,
    sendThinking: options.sendThinking ?? rules.sendThinking,
    thinkTags: options.thinkTags ?? rules.splitsThinking,
  };
  const fitCallId = callIdFitter(rules.callIds);
  const fit = (message: Msg): Msg => fitMessage(message, fitCallId);
  // Text of the array's elements, without the brackets.
  const messageText = memoize((message: Msg) =>
    jsonText(toWireMessages(fit(message), format)).slice(1, -1),
  );
  const toolText = memoize((tool: ToolSchema) => jsonText(toWireTool(tool)));
  const Decoder = format.thinkTags ? ThinkDecoder : OpenAiDecoder;

  return {
    format(request) {
      const { providerOptions, responseSchema } = request;
      const isHistoryRefused =
        rules.needsTools && !request.tools.length && hasCalls(request.messages);
      const tools = isHistoryRefused ? [noTool] : request.tools;
      const ordered = rules.leadingSystem ? joinSystem(request.messages) : request.messages;
      const turns = rules.alternatesRoles ? joinTurns(ordered.map(fit)) : ordered;
      const messages = rules.endsWithUser ? endWithUser(turns) : turns;
      const effort = providerOptions?.['reasoning_effort'];
      const { temperature, topP, stop } = acceptedSampling(format.model, request, effort);
      const fields = {
        model: format.model,
        stream: true,
        stream_options: format.includeUsage === false ? undefined : { include_usage: true },
        [format.maxTokensField]: request.maxTokens,
        temperature,
        top_p: topP,
        [rules.seedField ?? 'seed']: request.seed,
        stop,
        tool_choice: toWireChoice(request.toolChoice),
        response_format: responseSchema && toWireResponseFormat(responseSchema),
        ...providerOptions,
        ...(!tools.length && withoutTools(providerOptions)),
      };
      const lists = { messages: messages.map(messageText), tools: tools.map(toolText) };
      return jsonWithLists(fields, lists);
    },
    decoder: () => new Decoder(format.origin),
  };
}

/**
 * Stands for the tools of earlier calls if a request has none. Bedrock refuses such calls then:
 * https://github.com/can1357/oh-my-pi/issues/1227
 */
const noTool: ToolSchema = {
  name: 'no_tool',
  description: 'Does nothing. Do not call it.',
  parameters: {},
};

function hasCalls(messages: readonly Msg[]): boolean {
  return messages.some((message) => toolUsesOf(message).length > 0);
}

/**
 * Returns the fields that a request without tools must not have. Servers refuse them then:
 * https://github.com/camel-ai/camel/pull/3706, https://github.com/chenyme/grok2api/pull/1043
 */
export function withoutTools(options: JsonObject | undefined): WireObject {
  return options?.['tools'] ? {} : { tool_choice: undefined, parallel_tool_calls: undefined };
}

export function toWireTool(tool: ToolSchema): WireObject {
  const { name, description } = describedTool(tool);
  return { type: 'function', function: { name, description, ...wireParameters(tool) } };
}

export function toWireChoice(choice: ToolChoice | undefined): unknown {
  return typeof choice === 'object'
    ? { type: 'function', function: { name: choice.name } }
    : choice;
}

export const toWireResponseFormat: (schema: JsonObject) => WireResponseFormat =
  /* @__PURE__ */ memoize((responseSchema) => {
    const schema = replySchema(responseSchema);
    const format = { name: 'response', schema, strict: isStrict(schema) };
    return { type: 'json_schema', json_schema: format };
  });

interface WireResponseFormat extends WireObject {
  readonly type: 'json_schema';
  readonly json_schema: WireObject;
}

type MessageFormat = Pick<
  OpenAiFormatterOptions,
  'features' | 'origin' | 'sendThinking' | 'thinkTags'
>;

/**
 * Converts one message to the wire format. Each tool result becomes a separate message. The `name`
 * of an assistant is left out, because its role already names the speaker and several servers
 * reject the field.
 */
export function toWireMessages(message: Msg, format: MessageFormat): readonly WireObject[] {
  const { role, name, content } = message;
  if (role === 'assistant') return toWireAssistant(message, format);
  const results = toolResultsOf(message).map(toWireResult);
  const rest = content.filter((block) => block.type !== 'tool_result');
  if (!rest.length) return results;
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

/** Returns no message for a reply of thinking alone: servers refuse a message without content. */
function toWireAssistant(message: Msg, format: MessageFormat): readonly WireObject[] {
  const { content } = message;
  const { origin, sendThinking, thinkTags } = format;
  const calls = toolUsesOf(message).map((call) => toWireCall(call, origin));
  const blocks = content.filter(({ type }) => type !== 'tool_use');
  const extras: WireObject = Object.assign(
    {},
    ...blocks.map((block) => keptFieldsOf(block, origin)),
  );
  const thinking = thinkingOf(message).join('\n');
  const text = contentText(content);
  if (!text && !calls.length) return [];
  const isTagged = sendThinking && thinkTags && thinking && !extras['reasoning_details'];
  const wireMessage = {
    role: 'assistant',
    content: (isTagged ? `<think>\n${thinking}</think>\n\n${text}` : text) || null,
    // DeepSeek wants the field in each reply, and refuses an empty one:
    // https://github.com/NousResearch/hermes-agent/pull/18263
    reasoning_content: sendThinking && !thinkTags ? thinking || ' ' : undefined,
    ...extras,
    tool_calls: calls.length ? calls : undefined,
  };
  return [wireMessage];
}

/** `origin`: host of the server. Without it, the call gets no fields beside the usual ones. */
export function toWireCall(call: ToolUse, origin?: string): WireObject {
  const { id, name } = call;
  return {
    id,
    type: 'function',
    function: { name, arguments: argumentsOf(call) },
    ...keptFieldsOf(call, origin),
  };
}

function toWireResult({ toolUseId, output }: ToolResult): WireObject {
  return { role: 'tool', tool_call_id: toolUseId, content: contentText(output) };
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
    if (type === 'image' || type === 'video') {
      const detail = type === 'image' ? imageDetailOf(block) : undefined;
      return { type: `${type}_url`, [`${type}_url`]: { url: toUrl(source), detail } };
    }
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
