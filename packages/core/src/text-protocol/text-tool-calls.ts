import type { Middleware } from '../loop/use/middleware.ts';
import { checkFields } from '../error/check-fields.ts';
import type { Msg } from '../message/msg.ts';
import type { ChatModel } from '../model/chat-model.ts';
import { corrections } from './corrections.ts';
import { decodeReply } from './decode-reply.ts';
import { parseToolCalls } from './parse-tool-calls.ts';
import type { ParseReply, Reflect } from './parsed-reply.ts';
import { requestTeller } from './request-teller.ts';
import { toolsPrompt, type ToolsPromptContext } from './tools-prompt.ts';

export interface TextToolCallsOptions {
  /**
   * Parser of replies. Default `parseToolCalls`. With any other parser, `parseOxygent` too, the
   * whole text of a reply is held back. This applies if the request offers tools or holds earlier
   * calls.
   */
  readonly parse?: ParseReply;
  /**
   * Checks each answer; the model gets a returned text as a correction. An empty answer is
   * corrected in any case. Default: only empty answers are.
   */
  readonly reflect?: Reflect;
  /** Whether a reply may make several calls, which run in parallel. Default true. */
  readonly parallel?: boolean;
  /**
   * Returns the text that tells the model about its tools. It is put after the system prompt
   * unchanged. Default: an English text.
   */
  readonly prompt?: (context: ToolsPromptContext) => string;
}

/** The options and their kinds, for `checkFields`. */
export const protocolFields =
  'parse:function|? reflect:function|? parallel:boolean|? prompt:function|?';

/**
 * Lets a model without tool calling act by JSON in its text; for an agent's `use` list. The model
 * reads its tools after the system prompt, and the log's calls and results as text. Calls in a
 * reply become ordinary tool calls, and `<think>` parts become thinking. Text that may still be a
 * call is held back. A `step-reset` takes back released text that has to go. An invalid reply costs
 * an iteration: the log gets it and the correction as two messages with `metadata.correction`. The
 * model is told a tool choice, but the choice is not enforced; with `none` no tools are offered.
 * Put it after `outputGuards`, and before `fallback` and `retry`. Throws `CONFIGURATION` for an
 * option of the wrong kind. (OxyGent: the protocol of its ReAct agent.)
 */
export function textToolCalls(
  options: TextToolCallsOptions = {},
): Middleware & { wrapModel(model: ChatModel): ChatModel } {
  const where = 'textToolCalls()';
  checkFields('CONFIGURATION', where, options, protocolFields);
  const { parse = parseToolCalls, reflect, parallel = true, prompt = toolsPrompt } = options;
  const last = new WeakSet<Msg>();
  const protocol = { parse, reflect, parallel, last };
  return {
    name: 'textToolCalls',
    onError: 'fail',
    wrapModel(next) {
      const tell = requestTeller({ media: next.features.media, parallel, prompt });
      return {
        provider: next.provider,
        modelId: next.modelId,
        features: { ...next.features, tools: true },
        stream: (request, context) =>
          decodeReply(request, next.stream(tell(request), context), {
            ...protocol,
            signal: context.signal,
          }),
      };
    },
    on: corrections(last),
  };
}
