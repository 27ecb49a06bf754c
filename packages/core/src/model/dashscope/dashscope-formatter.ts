import { invalidInput } from '../../error/agent-error.ts';
import { jsonText, type JsonObject } from '../../message/json.ts';
import {
  blocksOf,
  toolResultsOf,
  toolUsesOf,
  type ContentBlock,
  type Msg,
} from '../../message/msg.ts';
import type { ModelFeatures, ModelRequest, ToolChoice, ToolSchema } from '../chat-model.ts';
import { DashScopeDecoder } from './dashscope-decoder.ts';
import { callIdFitter } from '../formatter/call-ids.ts';
import { fitMessage } from '../formatter/fit-message.ts';
import {
  joinTexts,
  jsonWithLists,
  memoize,
  type Formatter,
  type WireObject,
} from '../formatter/formatter.ts';
import {
  toWireCall,
  toWireChoice,
  toWireResponseFormat,
  toWireTool,
} from '../openai/openai-formatter.ts';
import { contentText, isMedia, mediaPlaceholder, toUrl } from '../../message/media/media.ts';

export interface DashScopeFormat {
  readonly model: string;
  readonly features: ModelFeatures;
  /** Service to use. If `undefined`, the media of the request decide. */
  readonly endpoint: DashScopeEndpoint | undefined;
  readonly enableThinking: boolean | undefined;
  /** Maximum number of thinking tokens. */
  readonly thinkingBudget: number | undefined;
}

interface DashScopeFormatter extends Formatter {
  /** Returns the service that accepts the request. */
  endpointOf(request: ModelRequest): DashScopeEndpoint;
}

/** Parameters that the decoder of the reply requires. */
const fixedParameters: JsonObject = { result_format: 'message', incremental_output: true };

/**
 * Creates a formatter for DashScope's own protocol: `{ model, input: { messages }, parameters }`.
 * `providerOptions` are merged into `parameters`. The JSON text of a message or tool is cached as
 * long as its object exists.
 */
export function dashScopeFormatter(format: DashScopeFormat): DashScopeFormatter {
  const { model, endpoint } = format;
  const media = sendableMedia(format.features);
  const fitCallId = callIdFitter();
  const toText = (sent?: typeof media): ((message: Msg) => string) =>
    memoize((message) => {
      const fittedMessage = fitMessage(message, fitCallId);
      return jsonText(toDashScopeMessages(fittedMessage, sent)).slice(1, -1);
    });
  const messageText = { text: toText(), multimodal: toText(media) };
  // The service has no strict mode.
  const toolText = memoize((tool: ToolSchema) =>
    jsonText(toWireTool({ ...tool, strict: undefined })),
  );
  const endpointOf = ({ messages }: ModelRequest): DashScopeEndpoint => {
    if (endpoint) return endpoint;
    return messages.some((message) => hasMedia(message, media)) ? 'multimodal' : 'text';
  };

  return {
    endpointOf,
    format(request) {
      const { providerOptions = {}, messages, tools } = request;
      const input = `{"messages":[${joinTexts(messages.map(messageText[endpointOf(request)]))}]}`;
      const plainParameters = {
        ...toParameters(request, format),
        ...checkFixedParameters(providerOptions),
      };
      const parameters = jsonWithLists(plainParameters, { tools: tools.map(toolText) });
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
  const mayThink = thinkingBudget === undefined ? enableThinking : true;
  const isThinking = (request.providerOptions?.['enable_thinking'] ?? mayThink) === true;
  return {
    ...fixedParameters,
    enable_thinking: mayThink,
    thinking_budget: thinkingBudget,
    max_tokens: request.maxTokens,
    temperature: request.temperature,
    top_p: request.topP,
    seed: request.seed,
    stop: stop?.length ? stop : undefined,
    tool_choice: tools.length > 0 ? toChoice(request.toolChoice, isThinking) : undefined,
    response_format: responseSchema && toWireResponseFormat(responseSchema),
  };
}

/**
 * Converts the choice `required` to `auto`, because the service does not support `required`. With
 * thinking, the choice of one tool becomes `auto` too, because the service cannot force a tool
 * then.
 */
function toChoice(choice: ToolChoice | undefined, isThinking: boolean): unknown {
  return choice === 'required' || (isThinking && typeof choice === 'object')
    ? 'auto'
    : toWireChoice(choice);
}

function checkFixedParameters(providerOptions: JsonObject): JsonObject {
  for (const [name, value] of Object.entries(fixedParameters)) {
    if (!(name in providerOptions) || providerOptions[name] === value) continue;
    const what = `providerOptions.${name} must be ${JSON.stringify(value)}`;
    throw invalidInput(`${what}: dashscope() supports no other value`);
  }
  return providerOptions;
}

/**
 * Name of one of DashScope's two services. `text` takes only text, and `multimodal` takes messages
 * with media.
 */
export type DashScopeEndpoint = 'text' | 'multimodal';

type Media = ModelFeatures['media'];

/**
 * Returns the kinds of media that the model and the multimodal service support. The service takes
 * each of them by URL, including a `data:` URL.
 */
function sendableMedia({ media }: ModelFeatures): Media {
  return media.filter((kind) => kind !== 'file');
}

/**
 * Converts one message to the format of the multimodal service, or to that of the text service if
 * `media` is `undefined`. Each tool result becomes a separate message. Thinking is not sent back.
 * Only tool results have a `name`.
 */
function toDashScopeMessages(message: Msg, media: Media | undefined): readonly WireObject[] {
  const { role, content } = message;
  const toContent = (blocks: readonly ContentBlock[]): string | readonly WireObject[] =>
    media ? toParts(blocks, media) : contentText(blocks);
  if (role === 'assistant') {
    const calls = toolUsesOf(message).map((call) => toWireCall(call));
    // The service refuses a reply of thinking alone, because it has no content.
    if (!contentText(content) && !calls.length) return [];
    return [{ role, content: toContent(content), tool_calls: calls.length ? calls : undefined }];
  }
  const results = toolResultsOf(message).map(({ toolUseId, name, output }) => ({
    role: 'tool',
    tool_call_id: toolUseId,
    name,
    content: toContent(blocksOf(output)),
  }));
  const rest = content.filter((block) => block.type !== 'tool_result');
  if (!rest.length) return results;
  return [...results, { role: role === 'tool' ? 'user' : role, content: toContent(rest) }];
}

/** Returns whether a message has a medium of these kinds. */
function hasMedia({ content }: Msg, media: Media): boolean {
  const blocks = content.flatMap((block) =>
    block.type === 'tool_result' ? blocksOf(block.output) : block,
  );
  return blocks.some((block) => media.some((kind) => kind === block.type));
}

function toParts(blocks: readonly ContentBlock[], media: Media): readonly WireObject[] {
  const parts = blocks.flatMap((block): readonly WireObject[] => {
    if (block.type === 'text') return [{ text: block.text }];
    if (!isMedia(block)) return [];
    const isSent = media.includes(block.type);
    return [isSent ? { [block.type]: toUrl(block.source) } : { text: mediaPlaceholder(block) }];
  });
  // Some models of the service reject a message without parts.
  return parts.length > 0 ? parts : [{ text: '' }];
}
