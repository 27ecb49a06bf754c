import type { Middleware } from '../../agent/middleware.ts';
import { isEnding } from '../../agent/next.ts';
import type { RunContext } from '../../agent/run-context.ts';
import type { ContentBlock, ToolResult } from '../../message/content-block.ts';
import { isRecord } from '../../message/json/is-record.ts';
import { parseJson } from '../../message/json/parse-json.ts';
import { plainText } from '../../message/media/media.ts';
import { toolResultsOf } from '../../message/message-text.ts';
import type { Msg } from '../../message/msg.ts';

declare module '../../agent/kernel-options.ts' {
  interface FeatureOptions {
    /**
     * Whether tool results become the answer. Overrides each tool's own `returnDirect`. The option
     * of an agent call overrides both.
     */
    readonly returnDirect?: ReturnDirect;
  }
}

/**
 * Whether tool results become the answer without another model request (OxyGent: `trust_mode`).
 * `true`: results of every tool. `false`: results of no tool. A function decides for each result;
 * `reply` is the model's message with the tool call. If the function returns `undefined`, the
 * tool's own `returnDirect` counts.
 */
export type ReturnDirect = boolean | ((result: ToolResult, reply: Msg) => boolean | undefined);

/**
 * Ends the agent call with the outputs of tools, if the newest messages are tool results.
 * `ReActAgent` has this middleware. Every result must be successful, and its tool must have
 * `returnDirect`. Several outputs become a JSON array in the order of the tool calls. The answer
 * passes `wrapReply`, as a reply of the model does.
 */
export function directAnswers(): Middleware {
  return {
    name: 'directAnswers',
    wrapRequest: (next) => async (draft, context, steps) => {
      const output = draft.isAsked ? undefined : directOutput(context);
      if (output === undefined) return next(draft, context);
      const message = steps.message('assistant', output);
      const answered = await steps.reply(message, 'return-direct');
      return isEnding(answered) ? answered : next(draft, context);
    },
  };
}

/** Returns the outputs that are the answer, or nothing if the model has to answer. */
function directOutput({
  messages,
  tools,
  options,
}: RunContext): string | readonly ContentBlock[] | undefined {
  const { returnDirect } = options;
  const last = messages.findLastIndex(({ role }) => role !== 'tool');
  const results = messages.slice(last + 1).flatMap(toolResultsOf);
  const isDirect = (result: ToolResult): boolean | undefined => {
    const rule =
      typeof returnDirect === 'function' ? returnDirect(result, messages[last]!) : returnDirect;
    const tool = tools.find(result.name);
    return rule ?? (typeof tool === 'object' && tool.returnDirect);
  };
  const isAnswer = (result: ToolResult): boolean =>
    result.state === 'success' && Boolean(isDirect(result));
  if (!results.length || !results.every(isAnswer)) return undefined;
  return results.length > 1 ? `[${results.map(toJson).join()}]` : results[0]!.output;
}

/**
 * Returns an output as JSON (Spring AI Alibaba: `ReturnDirectModelHook`). Keeps the text of JSON
 * objects and arrays, and quotes any other text.
 */
function toJson({ output }: ToolResult): string {
  const text = plainText(output);
  return isRecord(parseJson(text)) ? text : JSON.stringify(text);
}
