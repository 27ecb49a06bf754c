import { invalidInput } from '../../error/agent-error.ts';
import type { JsonObject } from '../../message/json.ts';
import type { Msg } from '../../message/msg.ts';
import type { ModelFeatures, ModelRequest, ToolChoice, ToolSchema } from '../chat-model.ts';
import { DashScopeDecoder } from './dashscope-decoder.ts';
import {
  hasMedia,
  sendableMedia,
  toDashScopeMessages,
  type DashScopeEndpoint,
} from './dashscope-messages.ts';
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
  const { model, endpoint } = format;
  const media = sendableMedia(format.features);
  const toText = (sent?: typeof media): ((message: Msg) => string) =>
    memoize((message) => JSON.stringify(toDashScopeMessages(message, sent)).slice(1, -1));
  const messageText = { text: toText(), multimodal: toText(media) };
  // The service has no strict mode.
  const toolText = memoize((tool: ToolSchema) =>
    JSON.stringify(toWireTool({ ...tool, strict: undefined })),
  );
  const endpointOf = ({ messages }: ModelRequest): DashScopeEndpoint => {
    if (endpoint) return endpoint;
    return messages.some((message) => hasMedia(message, media)) ? 'multimodal' : 'text';
  };

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

function toParameters(
  request: ModelRequest,
  { enableThinking, thinkingBudget }: DashScopeFormat,
): WireObject {
  const { tools, stop, responseSchema } = request;
  const enable = thinkingBudget === undefined ? enableThinking : true;
  const thinks = (request.providerOptions?.['enable_thinking'] ?? enable) === true;
  return {
    ...fixed,
    enable_thinking: enable,
    thinking_budget: thinkingBudget,
    max_tokens: request.maxTokens,
    temperature: request.temperature,
    top_p: request.topP,
    seed: request.seed,
    stop: stop?.length ? stop : undefined,
    tool_choice: tools.length > 0 ? toChoice(request.toolChoice, thinks) : undefined,
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
