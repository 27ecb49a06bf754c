import { callIdFitter } from '../formatter/call-ids.ts';
import { fitMessage } from '../formatter/fit-message.ts';
import { fieldOf } from '../../error/agent-error.ts';
import { jsonWithLists, memoize, type WireObject } from '../formatter/formatter.ts';
import { isObjectOrArray, jsonText, type JsonObject } from '../../message/json.ts';
import { isNewestReplyEdited } from '../../message/metadata.ts';
import { contentText } from '../../message/media/media.ts';
import { toolResultsOf, type Msg } from '../../message/msg.ts';
import type { ModelRequest, ToolChoice, ToolSchema } from '../chat-model.ts';
import { toWireResponseFormat, withoutTools } from '../openai/openai-formatter.ts';
import { acceptedSampling } from '../formatter/refused-settings.ts';
import { serverRulesOf } from '../formatter/server-rules.ts';
import { describedTool, wireParameters } from '../formatter/strict-schema.ts';
import { conversationSums, previousResponse } from './previous-response.ts';
import { callersIn, toInputItems, type Callers, type InputTarget } from './responses-input.ts';

interface ResponsesFormat extends InputTarget {
  readonly model: string;
  readonly reasoning: object | undefined;
  readonly builtInTools: readonly JsonObject[];
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
  readonly isContinuation: boolean;
  /** Notes that the reply is complete. */
  readonly complete: () => void;
  /** Checksum of the whole conversation, for a stored response. */
  readonly inputSum: number | undefined;
}

interface FormatOptions {
  /** Whether to send all messages, whatever the provider stores. Default: false. */
  readonly isWhole?: boolean;
  /** Whether the provider continues the reply without a reader. Default: false. */
  readonly background?: boolean;
}

/** Wire format of the Responses API. */
export interface ResponsesFormatter {
  format(request: ModelRequest, options?: FormatOptions): ResponsesRequest;
  /** Sends these messages without their encrypted reasoning from now on. */
  leaveOutReasoning(messages: readonly Msg[]): void;
}

/** The JSON text of the items of a message, without the brackets of their list. */
class ItemTexts {
  readonly #format: ResponsesFormat;
  readonly #fitCallId: ReturnType<typeof callIdFitter>;
  /** Messages whose encrypted reasoning the server cannot read. */
  readonly #unreadableMessages: WeakSet<Msg> = new WeakSet();
  readonly #readableText: (message: Msg) => string;

  constructor(format: ResponsesFormat) {
    this.#format = format;
    this.#fitCallId = callIdFitter(serverRulesOf(format.origin, format.model).callIds);
    this.#readableText = memoize((message: Msg) => this.#make(message));
  }

  /** `callers`: the programs of the provider that called functions. */
  of(message: Msg, callers?: Callers): string {
    if (callers && answersProgram(message, callers)) return this.#make(message, callers);
    const isUnreadable = this.#unreadableMessages.has(message);
    return isUnreadable ? this.#make(message) : this.#readableText(message);
  }

  leaveOutReasoning(messages: readonly Msg[]): void {
    for (const message of messages) this.#unreadableMessages.add(message);
  }

  #make(message: Msg, callers?: Callers): string {
    const isUnreadable = this.#unreadableMessages.has(message);
    const target = isUnreadable ? { ...this.#format, encryptedReasoning: false } : this.#format;
    const items = toInputItems(fitMessage(message, this.#fitCallId), target, callers);
    return jsonText(items).slice(1, -1);
  }
}

/** Returns whether a message has the result of a call that a program of the provider made. */
function answersProgram(message: Msg, callers: Callers): boolean {
  if (!callers.size) return false;
  return toolResultsOf(message).some(({ toolUseId }) => callers.has(toolUseId));
}

/**
 * Creates a formatter for the Responses API. The JSON text of a message or tool is cached for the
 * lifetime of the object.
 */
export function responsesFormatter(format: ResponsesFormat): ResponsesFormatter {
  const texts = new ItemTexts(format);
  const sumsOf = conversationSums(format.origin, (message) => texts.of(message));
  // Messages with a stored response that a later response continues.
  const continuedMessages = new WeakSet<Msg>();
  const toolText = memoize((tool: ToolSchema) => jsonText(toWireTool(tool)));
  const builtInTools = format.builtInTools.map((tool) => JSON.stringify(tool));

  return {
    leaveOutReasoning: (messages) => texts.leaveOutReasoning(messages),
    format(request, { isWhole, background } = {}) {
      const systemEnd = request.messages.findIndex(({ role }) => role !== 'system');
      const system = request.messages.slice(0, systemEnd < 0 ? undefined : systemEnd);
      const messages = request.messages.slice(system.length);
      const sums = format.previousResponse ? sumsOf(messages) : [];
      const storedResponse = previousResponse(messages, sums);
      // A response that is continued and is the last one again has successors that were truncated.
      const previous =
        storedResponse && !isWhole && !continuedMessages.has(storedResponse.message)
          ? storedResponse
          : undefined;
      const tools = [...request.tools.map(toolText), ...builtInTools];
      const ownRequest = {
        ...toWireRequest(request, format),
        instructions: system.map(({ content }) => contentText(content)).join('\n\n') || undefined,
        tool_choice: toWireChoice(request.toolChoice),
        previous_response_id: previous?.id,
        ...(background && { background, store: true }),
      };
      const callers = callersIn(messages, format);
      const newMessages = messages.slice(previous?.next);
      const input = newMessages.map((message) => texts.of(message, callers));
      return {
        body: jsonWithLists(withOptions(ownRequest, optionsOf(request), tools), { input, tools }),
        lastItem: input.at(-1) ?? '',
        isContinuation: previous !== undefined,
        complete: () => {
          if (storedResponse) continuedMessages.add(storedResponse.message);
        },
        inputSum: sums.at(-1),
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

interface WireRequest extends WireObject {
  readonly include: readonly string[] | undefined;
  readonly text: WireObject | undefined;
}

function toWireRequest(
  request: ModelRequest,
  { model, reasoning, encryptedReasoning, previousResponse: store }: ResponsesFormat,
): WireRequest {
  const { maxTokens, responseSchema, providerOptions } = request;
  const effort = fieldOf(providerOptions?.['reasoning'] ?? reasoning, 'effort');
  const { temperature, topP } = acceptedSampling(model, request, effort);
  const responseFormat = responseSchema && toWireResponseFormat(responseSchema);
  return {
    model,
    stream: true,
    store,
    include: encryptedReasoning && !store ? ['reasoning.encrypted_content'] : undefined,
    max_output_tokens: maxTokens,
    temperature,
    top_p: topP,
    reasoning,
    text: responseFormat && {
      format: { type: responseFormat.type, ...responseFormat.json_schema },
    },
  };
}

/**
 * Merges `text`, so that an option such as `verbosity` keeps the schema, and the list `include`, so
 * that the reply keeps encrypted reasoning. Other fields replace.
 */
function withOptions(
  request: WireRequest,
  options: JsonObject,
  tools: readonly string[],
): WireObject {
  const { include, text } = options;
  return {
    ...request,
    ...options,
    ...(Array.isArray(include) && {
      include: [...new Set([...(request.include ?? []), ...include])],
    }),
    ...(isObjectOrArray(text) && { text: { ...request.text, ...text } }),
    ...(!tools.length && withoutTools(options)),
  };
}

function toWireTool(tool: ToolSchema): WireObject {
  const { name, description } = describedTool(tool);
  const { parameters, strict = false } = wireParameters(tool);
  // The API makes a schema strict if the field is missing.
  return { type: 'function', name, description, parameters, strict };
}

function toWireChoice(choice: ToolChoice | undefined): unknown {
  return typeof choice === 'object' ? { type: 'function', name: choice.name } : choice;
}
