import { isRecord, type JsonObject, type JsonValue } from '../../message/json.ts';
import type { Msg } from '../../message/msg.ts';
import type { ModelFeatures, ToolChoice, ToolSchema } from '../chat-model.ts';
import { type Formatter, jsonWithLists, memoize } from '../formatter.ts';
import { OpenAiDecoder } from './openai-decoder.ts';
import { toWireMessages, type WireObject } from './openai-messages.ts';

export interface OpenAiFormat {
  readonly model: string;
  readonly features: ModelFeatures;
  /**
   * Field of the body for `maxTokens`. OpenAI's reasoning models reject `max_tokens`, and most
   * other servers support only `max_tokens`.
   */
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens';
  /**
   * Whether to send thinking back as `reasoning_content`. DeepSeek requires this field between tool
   * calls; OpenAI does not support it.
   */
  readonly sendThinking?: boolean | undefined;
  /** Whether to request token counts with `stream_options.include_usage`. Default true. */
  readonly includeUsage?: boolean | undefined;
}

/**
 * Creates a formatter for chat completions. The JSON text of a message or tool is cached as long as
 * its object exists. A long history is therefore not serialized again for each request.
 */
export function openAiFormatter(format: OpenAiFormat): Formatter {
  // Text of the array's elements, without the brackets.
  const messageText = memoize((message: Msg) =>
    JSON.stringify(toWireMessages(message, format)).slice(1, -1),
  );
  const toolText = memoize((tool: ToolSchema) => JSON.stringify(toWireTool(tool)));

  return {
    format(request) {
      const { providerOptions, messages, tools, stop, responseSchema } = request;
      const fields = {
        model: format.model,
        stream: true,
        stream_options: format.includeUsage === false ? undefined : { include_usage: true },
        [format.maxTokensField]: request.maxTokens,
        temperature: request.temperature,
        top_p: request.topP,
        seed: request.seed,
        stop: stop?.length ? stop : undefined,
        tool_choice: tools.length ? toWireChoice(request.toolChoice) : undefined,
        response_format: responseSchema && toWireResponseFormat(responseSchema),
        ...providerOptions,
      };
      return jsonWithLists(fields, {
        messages: messages.map(messageText),
        tools: tools.map(toolText),
      });
    },
    decoder: () => new OpenAiDecoder(),
  };
}

export function toWireTool({ name, description, parameters, strict }: ToolSchema): WireObject {
  return { type: 'function', function: { name, description, parameters, strict } };
}

export function toWireChoice(choice: ToolChoice | undefined): unknown {
  return typeof choice === 'object'
    ? { type: 'function', function: { name: choice.name } }
    : choice;
}

export function toWireResponseFormat(schema: JsonObject): WireObject {
  return {
    type: 'json_schema',
    json_schema: { name: 'response', schema, strict: isStrict(schema) },
  };
}

/**
 * Returns whether OpenAI accepts the schema in strict mode: no object allows additional properties,
 * and every property is required.
 */
export function isStrict(schema: JsonValue): boolean {
  if (!isRecord(schema)) return true;
  const {
    type,
    properties,
    required = [],
    additionalProperties,
  } = schema as JsonObject & { readonly required?: readonly JsonValue[] };
  const names = Object.keys(properties ?? {});
  if (
    type === 'object' &&
    (additionalProperties !== false || names.some((name) => !required.includes(name)))
  )
    return false;
  return Object.values(schema).every(isStrict);
}
