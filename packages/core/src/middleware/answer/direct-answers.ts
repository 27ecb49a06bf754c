import type {
  InnerStep,
  Middleware,
  RequestDraft,
  RunContext,
  Steps,
} from '../../agent/middleware.ts';
import { isEnding, type Next } from '../../agent/next.ts';
import { toolResultsOf, type ToolResult, type Msg } from '../../message/msg.ts';
import { isObjectOrArray, parseJson } from '../../message/json.ts';
import { contentText } from '../../message/media/media.ts';
import type { ModelRequest } from '../../model/chat-model.ts';
import { toolOf, type ToolSet } from '../../tool/set/tool-set.ts';

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
    wrapRequest: (next) => (draft, context, steps) =>
      draft.mustAsk || !mayAnswer(context)
        ? next(draft)
        : answerDirectly(draft, next, context, steps),
  };
}

/** Returns whether the newest message is a result that may be the answer. */
function mayAnswer({ messages, tools, options }: RunContext): boolean {
  const last = messages.at(-1);
  const [result] = last?.role === 'tool' ? toolResultsOf(last) : [];
  return result !== undefined && Boolean(options.returnDirect ?? isDirect(result, tools));
}

/** Ends the run with the newest results, or asks the model if it has to answer. */
async function answerDirectly(
  draft: RequestDraft,
  next: InnerStep<RequestDraft, ModelRequest | Next>,
  context: RunContext,
  steps: Steps,
): Promise<ModelRequest | Next> {
  const { messages, tools, options } = context;
  const last = messages.findLastIndex(({ role }) => role !== 'tool');
  const results = messages.slice(last + 1).flatMap(toolResultsOf);
  const { returnDirect: rule } = options;
  const isAnswer = (result: ToolResult): boolean => {
    if (result.state !== 'success') return false;
    const ruled = typeof rule === 'function' ? rule(result, messages[last]!) : rule;
    return ruled ?? isDirect(result, tools);
  };
  if (!results.every(isAnswer)) return next(draft);
  const content = results.length > 1 ? `[${results.map(toJson).join()}]` : results[0]!.output;
  const outcome = await steps.reply(steps.message('assistant', content), 'return-direct');
  return isEnding(outcome) ? outcome : next(draft);
}

function isDirect({ name }: ToolResult, tools: ToolSet): boolean {
  return Boolean(toolOf(tools, name)?.returnDirect);
}

/**
 * Returns an output as JSON (Spring AI Alibaba: `ReturnDirectModelHook`). Keeps the text of JSON
 * objects and arrays, and quotes any other text.
 */
function toJson({ output }: ToolResult): string {
  const text = contentText(output);
  return isObjectOrArray(parseJson(text)) ? text : JSON.stringify(text);
}
