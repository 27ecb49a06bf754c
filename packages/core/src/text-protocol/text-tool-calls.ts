import type { Middleware } from '../agent/middleware.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { boolean, func, oneOf, optional } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import {
  type ChatModel,
  type ModelFeatures,
  type ModelRequest,
  offersTools,
} from '../model/chat-model.ts';
import { corrections } from './corrections.ts';
import { decodeReply } from './decode-reply.ts';
import { parseToolCalls } from './reply-reader.ts';
import type { ReplyParser, CheckAnswer } from './parsed-reply.ts';
import { toolsPrompt, type ToolsPromptContext } from './tools-prompt.ts';
import { systemMessage, textOf, userMessage } from '../message/msg.ts';
import { afterSystem, systemTextAdder } from '../message/conversation/system-message.ts';
import { textHistory } from '../message/conversation/text-history.ts';
import { describeTools, isOfProgram } from '../tool/describe-tools.ts';

/** How `textToolCalls()` tells the model about its tools, and how it reads replies. */
export interface TextToolCallsOptions {
  /**
   * Parser of replies. Default: `parseToolCalls`, which reads a reply only if the request has tools
   * or earlier tool calls. Any other parser reads each reply, and the whole text of a reply is
   * withheld until its end.
   */
  readonly parse?: ReplyParser;
  /**
   * Function that checks each answer. If it returns a text, the model gets that text as a
   * correction. The model always gets a correction for an empty answer. Default: no further check.
   */
  readonly check?: CheckAnswer;
  /** Whether a reply may make several tool calls, which run in parallel. Default: true. */
  readonly parallel?: boolean;
  /**
   * What becomes of text before a `<think>` part. `keep` (default): it belongs to the answer.
   * `drop`: all text before the last `</think>` is thinking. Source: OxyGent.
   */
  readonly textBeforeThinking?: 'keep' | 'drop';
  /**
   * Function that returns the text that tells the model about its tools. The text is added after
   * the system prompt unchanged. Default: `toolsPrompt`, an English text.
   */
  readonly prompt?: (context: ToolsPromptContext) => string;
}

/**
 * Creates middleware with which a model without native tool calling can use tools: the model writes
 * tool calls as JSON in its text. In an agent's `use` list, put it after `outputGuards`, and before
 * `fallback` and `retry`. Throws `CONFIGURATION` for an option of the wrong kind.
 *
 * The model gets its tools as text after the system prompt, and earlier tool calls and results as
 * text messages. Tool calls in a reply become ordinary tool calls, and `<think>` parts become
 * thinking. Text that may be part of a tool call is withheld. A `step-reset` event discards text
 * that was sent but is not part of the answer.
 *
 * An invalid reply uses up one iteration. The log stores the reply and the correction as two
 * messages with `metadata.correction`. The text for the model mentions a tool choice, but the
 * choice is not enforced. With the tool choice `none`, the model gets no tools. Source: OxyGent,
 * the protocol of its ReAct agent.
 */
export function textToolCalls(
  options: TextToolCallsOptions = {},
): Middleware & { wrapModel(model: ChatModel): ChatModel } {
  const where = 'textToolCalls()';
  checkOptions(where, options, textToolCallsOptions);
  const { parse = parseToolCalls, parallel = true } = options;
  const dropsTextBefore = options.textBeforeThinking === 'drop';
  return {
    name: 'textToolCalls',
    onError: 'fail',
    wrapModel(next) {
      const toText = textRequests(next.features.media, options);
      return {
        provider: next.provider,
        modelId: next.modelId,
        features: { ...next.features, tools: true },
        stream(request, context) {
          const stream = next.stream(toText(request), context);
          const { signal } = context;
          return decodeReply(request, stream, { parse, parallel, dropsTextBefore, signal });
        },
      };
    },
    wrapReply: corrections(options),
  };
}

const textToolCallsOptions: OptionTable<TextToolCallsOptions> = {
  parse: optional(func),
  check: optional(func),
  prompt: optional(func),
  parallel: optional(boolean),
  textBeforeThinking: optional(oneOf('keep', 'drop')),
};

const clientToolsNote = 'The first message after the system prompt describes further tools.';

/**
 * Returns a function that converts an agent's request into a request for a model without native
 * tool calls.
 */
function textRequests(
  media: ModelFeatures['media'],
  { parallel = true, prompt = toolsPrompt }: TextToolCallsOptions,
): (request: ModelRequest) => ModelRequest {
  const history = textHistory(media);
  const addPrompt = systemTextAdder((text) => systemMessage(text, { id: 'tools' }));
  return (request) => {
    const { toolChoice = 'auto', ...rest } = request;
    const messages = history(request.messages);
    if (!offersTools(request) || toolChoice === 'none') return { ...rest, messages, tools: [] };
    const { tools } = request;
    const [first] = messages;
    const clientTools = tools.filter((tool) => !isOfProgram(tool));
    const described = describeTools(tools.filter(isOfProgram));
    const isDescribed = first?.role === 'system' && textOf(first).includes(described);
    const texts = [isDescribed ? '' : described, clientTools.length ? clientToolsNote : ''];
    const toolsText = texts.filter(Boolean).join('\n\n');
    const text = prompt({ tools, toolsText, parallel, toolChoice });
    const prompted = addPrompt(messages, text);
    if (!clientTools.length) return { ...rest, messages: prompted, tools: [] };
    // What a client writes must not get the rank of the system prompt.
    const clientText = userMessage(describeTools(clientTools), { id: 'client-tools' });
    return { ...rest, messages: afterSystem(prompted, clientText), tools: [] };
  };
}
