import { invalidInput } from '../../error/agent-error.ts';
import type { JsonObject } from '../../message/json.ts';
import type { Msg } from '../../message/msg.ts';
import type { ModelFeatures, ModelRequest, ToolChoice, ToolSchema } from '../chat-model.ts';
import { DashScopeDecoder } from './dashscope-decoder.ts';
import { hasPart, toDashScopeMessages, type DashScopeEndpoint } from './dashscope-messages.ts';
import { type Formatter, joinTexts, jsonWithLists, memoize } from '../formatter.ts';
import { toWireChoice, toWireResponseFormat, toWireTool } from '../openai/openai-formatter.ts';
import type { WireObject } from '../openai/openai-messages.ts';

export interface DashScopeFormat {
  readonly model: string;
  readonly features: ModelFeatures;
  /** Service to use. If `undefined`, the media of the request decide. */
  readonly endpoint: DashScopeEndpoint | undefined;
  readonly enableThinking: boolean | undefined;
  /** Maximum number of thinking tokens. */
  readonly thinkingBudget: number | undefined;
}

export interface DashScopeFormatter extends Formatter {
  /** Returns the service that accepts the request. */
  endpointOf(request: ModelRequest): DashScopeEndpoint;
}

/** Parameters that the decoder of the reply requires. */
const fixed: JsonObject = { result_format: 'message', incremental_output: true };

/**
 * Creates a formatter for DashScope's own protocol: `{ model, input: { messages }, parameters }`.
 * `providerOptions` are merged into `parameters`. The JSON text of a message or tool is cached as
 * long as its object exists.
 */
export function dashScopeFormatter(format: DashScopeFormat): DashScopeFormatter {
  const { model, endpoint, features } = format;
  const messageText = {
    text: memoize((message: Msg) => textOf(message, 'text', features.media)),
    multimodal: memoize((message: Msg) => textOf(message, 'multimodal', features.media)),
  };
  // The service has no strict mode.
  const toolText = memoize((tool: ToolSchema) =>
    JSON.stringify(toWireTool({ ...tool, strict: undefined })),
  );
  const endpointOf = ({ messages }: ModelRequest): DashScopeEndpoint =>
    endpoint ??
    (messages.some((message) => hasPart(message, features.media)) ? 'multimodal' : 'text');

  return {
    endpointOf,
    format(request) {
      const { providerOptions = {}, messages, tools } = request;
      const texts = messages.map(messageText[endpointOf(request)]);
      const input = `{"messages":[${joinTexts(texts)}]}`;
      const own = { ...toParameters(request, format), ...checked(providerOptions) };
      const parameters = jsonWithLists(own, { tools: tools.map(toolText) });
      return `{"model":${JSON.stringify(model)},"input":${input},"parameters":${parameters}}`;
    },
    decoder: () => new DashScopeDecoder(),
  };
}

function textOf(message: Msg, endpoint: DashScopeEndpoint, media: ModelFeatures['media']): string {
  return toDashScopeMessages(message, endpoint, media)
    .map((wire) => JSON.stringify(wire))
    .join(',');
}

function toParameters(
  request: ModelRequest,
  { enableThinking, thinkingBudget }: DashScopeFormat,
): WireObject {
  const { maxTokens, temperature, topP, seed, stop, toolChoice, responseSchema } = request;
  const { tools, providerOptions } = request;
  const thinks =
    (providerOptions?.['enable_thinking'] ?? enableThinking ?? thinkingBudget !== undefined) ===
    true;
  return {
    ...fixed,
    enable_thinking: thinkingBudget === undefined ? enableThinking : true,
    thinking_budget: thinkingBudget,
    max_tokens: maxTokens,
    temperature,
    top_p: topP,
    seed,
    stop: stop?.length ? stop : undefined,
    tool_choice: tools.length > 0 ? toChoice(toolChoice, thinks) : undefined,
    response_format: responseSchema && toWireResponseFormat(responseSchema),
  };
}

/**
 * Converts the choice `required` to `auto`, because the service does not support `required`. With
 * thinking, the choice of one tool becomes `auto` too, because the service cannot force a tool
 * then.
 */
function toChoice(choice: ToolChoice | undefined, thinks: boolean): unknown {
  return choice === 'required' || (thinks && typeof choice === 'object')
    ? 'auto'
    : toWireChoice(choice);
}

function checked(providerOptions: JsonObject): JsonObject {
  for (const [name, value] of Object.entries(fixed)) {
    if (name in providerOptions && providerOptions[name] !== value)
      throw invalidInput(
        `providerOptions.${name} must be ${JSON.stringify(value)}: dashscope() supports no other value`,
      );
  }
  return providerOptions;
}
