import { list, memoize } from '../formatter.ts';
import type { JsonObject, JsonValue } from '../../message/json/json.ts';
import { isRecord } from '../../message/json/is-record.ts';
import { isNewestReplyEdited } from '../../message/edited-call.ts';
import { plainText } from '../../message/media.ts';
import { toolResultsOf } from '../../message/message-text.ts';
import type { Msg } from '../../message/msg.ts';
import type { ModelRequest, ToolChoice, ToolSchema } from '../chat-model.ts';
import { isStrict } from '../openai/openai-formatter.ts';
import { conversationSums, previousResponse, type PreviousResponse } from './previous-response.ts';
import { callersIn, toInputItems, type InputFormat } from './responses-input.ts';
import type { WireReasoning, WireRequest, WireTool, WireToolChoice } from './responses-wire.ts';

export interface ResponsesFormat extends InputFormat {
  readonly model: string;
  readonly reasoning?: WireReasoning | undefined;
  readonly builtInTools?: readonly JsonObject[] | undefined;
  /** Whether to ask for encrypted reasoning, so that later requests can send it back. */
  readonly encryptedReasoning: boolean;
  /** Whether the provider stores responses, and a request continues from the last one. */
  readonly previousResponse: boolean;
}

export interface ResponsesRequest {
  /** JSON text of the body. */
  readonly body: string;
  /** JSON text of the newest message's items. */
  readonly lastItem: string;
  /** Whether the body continues from a stored response. */
  readonly continues: boolean;
  /** Notes that the reply is complete. */
  readonly settle: () => void;
  /** Checksum of the whole conversation, for a stored response. */
  readonly inputSum?: number;
}

interface FormatOptions {
  /** Whether to send all messages, whatever the provider stores. Default: false. */
  readonly whole?: boolean;
  /** Whether the provider continues the reply without a reader. Default: false. */
  readonly background?: boolean;
}

interface LookBack {
  readonly base?: Msg | undefined;
  readonly previous?: PreviousResponse | undefined;
  readonly inputSum?: number;
}

/** Wire format of the Responses API. */
export interface ResponsesFormatter {
  format(request: ModelRequest, options?: FormatOptions): ResponsesRequest;
}

/**
 * Creates a formatter for the Responses API. The JSON text of a message or tool is cached for the
 * lifetime of the object.
 */
export function responsesFormatter(format: ResponsesFormat): ResponsesFormatter {
  // The elements of an array, without its brackets.
  const itemsText = memoize((message: Msg) =>
    JSON.stringify(toInputItems(message, format)).slice(1, -1),
  );
  const sumsOf = conversationSums(format.origin, itemsText);
  // Messages with a stored response that a later response continues.
  const continued = new WeakSet<Msg>();
  const toolText = memoize((tool: ToolSchema) => JSON.stringify(toWireTool(tool)));
  const builtInTools = (format.builtInTools ?? []).map((tool) => JSON.stringify(tool));

  /** Returns a function that returns the JSON text of the items of each message. */
  const toText = (messages: readonly Msg[]): ((message: Msg) => string) => {
    const callers = callersIn(messages, format);
    if (!callers.size) return itemsText;
    return (message) =>
      toolResultsOf(message).some(({ toolUseId }) => callers.has(toolUseId))
        ? JSON.stringify(toInputItems(message, format, callers)).slice(1, -1)
        : itemsText(message);
  };

  /** Finds the stored response that a request continues. `base`: its message. */
  const lookBack = (messages: readonly Msg[], whole: boolean): LookBack => {
    if (!format.previousResponse) return {};
    const sums = sumsOf(messages);
    const stored = previousResponse(messages, sums);
    const base = stored && messages[stored.next - 1]!;
    // A response that is continued and is the last one again has lost its successors to a cut.
    const previous = base && !whole && !continued.has(base) ? stored : undefined;
    return { base, previous, inputSum: sums.at(-1)! };
  };

  return {
    format(request, { whole = false, background = false } = {}) {
      const { tools } = request;
      const providerOptions = optionsOf(request);
      const { instructions, messages } = split(request.messages);
      const { base, previous, ...sum } = lookBack(messages, whole);
      const options = withOptions(
        {
          ...toWireRequest(request, format, instructions),
          previous_response_id: previous?.id,
          ...(background && { background, store: true }),
        },
        providerOptions,
      );
      const input = messages.slice(previous?.next ?? 0).map(toText(messages));
      const toolTexts = [...tools.map(toolText), ...builtInTools];
      const fields = JSON.stringify(options).slice(0, -1);
      return {
        body: `${fields}${listsText(input, toolTexts, providerOptions)}}`,
        lastItem: input.at(-1) ?? '',
        continues: previous !== undefined,
        settle: () => {
          if (base) continued.add(base);
        },
        ...sum,
      };
    },
  };
}

/** Returns the provider options, without a stored response whose arguments were edited since. */
function optionsOf({ providerOptions = {}, messages }: ModelRequest): JsonObject {
  if (!isNewestReplyEdited(messages)) return providerOptions;
  const { previous_response_id: _stored, ...options } = providerOptions;
  return options;
}

/** Returns the fields of a body that consist of JSON texts, unless the options have them. */
function listsText(
  input: readonly string[],
  tools: readonly string[],
  options: JsonObject,
): string {
  const inputText = 'input' in options ? '' : `,"input":[${list(input)}]`;
  const hasTools = tools.length > 0 && !('tools' in options);
  return hasTools ? `${inputText},"tools":[${tools.join()}]` : inputText;
}

function toWireRequest(
  { maxTokens, temperature, topP, toolChoice, tools, responseSchema }: ModelRequest,
  { model, reasoning, builtInTools, encryptedReasoning, previousResponse: stores }: ResponsesFormat,
  instructions: string,
): WireRequest {
  const hasTools = tools.length > 0 || !!builtInTools?.length;
  return {
    model,
    stream: true,
    store: stores,
    include: encryptedReasoning && !stores ? ['reasoning.encrypted_content'] : undefined,
    instructions: instructions || undefined,
    max_output_tokens: maxTokens,
    temperature,
    top_p: topP,
    reasoning,
    tool_choice: hasTools ? toWireChoice(toolChoice) : undefined,
    text: responseSchema && {
      format: {
        type: 'json_schema',
        name: 'response',
        schema: responseSchema,
        strict: isStrict(responseSchema),
      },
    },
  };
}

/**
 * Merges `text`, so that an option such as `verbosity` keeps the schema, and the list `include`, so
 * that the reply keeps encrypted reasoning. Other fields replace.
 */
function withOptions(request: WireRequest, options: JsonObject): JsonObject {
  const own = request as unknown as JsonObject;
  const text: JsonValue | undefined = isRecord(options['text']) ? options['text'] : undefined;
  const { include } = options;
  return {
    ...own,
    ...options,
    ...(Array.isArray(include) && {
      include: [...new Set([...(request.include ?? []), ...include])],
    }),
    ...(text && request.text && { text: { ...(own['text'] as JsonObject), ...text } }),
  } as JsonObject;
}

/** Splits off the system messages at the start: they are the instructions of a request. */
function split(messages: readonly Msg[]): {
  readonly instructions: string;
  readonly messages: readonly Msg[];
} {
  const first = messages.findIndex(({ role }) => role !== 'system');
  const end = first < 0 ? messages.length : first;
  const system = messages.slice(0, end).map(({ content }) => plainText(content));
  return { instructions: system.join('\n\n'), messages: messages.slice(end) };
}

function toWireTool({ name, description, parameters, strict = false }: ToolSchema): WireTool {
  // The API makes a schema strict if the field is missing.
  return { type: 'function', name, description, parameters, strict };
}

function toWireChoice(choice: ToolChoice | undefined): WireToolChoice | undefined {
  return typeof choice === 'object' ? { type: 'function', name: choice.name } : choice;
}
