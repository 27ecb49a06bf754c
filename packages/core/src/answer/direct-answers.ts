import { checkNoOptions } from '../error/options/check-options.ts';
import type { Middleware, Run } from '../agent/middleware.ts';
import { isEnding } from '../agent/next.ts';
import { toolResultsOf, type MessageContent, type ToolResult, type Msg } from '../message/msg.ts';
import { isObjectOrArray, parseJson } from '../message/json.ts';
import { contentText } from '../message/media/media.ts';
import { toolOf } from '../tool/set/tool-set.ts';

/**
 * Whether tool results become the answer without another model request. `true`: results of every
 * tool. `false`: results of no tool. A function decides for each result; `reply` is the model's
 * message with the tool call. If the function returns `undefined`, the tool's own `returnDirect`
 * counts. Source: OxyGent, `trust_mode`.
 */
export type ReturnDirect = boolean | ((result: ToolResult, reply: Msg) => boolean | undefined);

/**
 * Ends the agent call with the outputs of tools, if the newest messages are tool results.
 * `ReActAgent` has this middleware. Every result must be successful, and its tool must have
 * `returnDirect`. Several outputs become a JSON array in the order of the tool calls. The answer
 * passes `wrapReply`, as a reply of the model does.
 */
export function directAnswers(): Middleware;
export function directAnswers(...args: readonly unknown[]): Middleware {
  checkNoOptions(
    'directAnswers()',
    args,
    'Set `returnDirect` of a tool, of the agent or of an agent call.',
  );
  return {
    name: 'directAnswers',
    wrapRequest: async (draft, next, run) => {
      const outputs = draft.mustAsk ? [] : directOutputs(run);
      const [first, second] = outputs;
      if (first === undefined) return next(draft);
      const content = second === undefined ? first : `[${outputs.map(toJson).join()}]`;
      const outcome = await run.ending.reply(
        run.createMessage('assistant', content),
        'return-direct',
      );
      return isEnding(outcome) ? outcome : next(draft);
    },
  };
}

/** Returns the outputs of the newest results if all of them are the answer. */
function directOutputs({ messages, tools, options }: Run): readonly MessageContent[] {
  const lastIndex = messages.findLastIndex(({ role }) => role !== 'tool');
  const results = messages.slice(lastIndex + 1).flatMap(toolResultsOf);
  const { returnDirect: rule } = options;
  const isAnswer = (result: ToolResult): boolean => {
    if (result.state !== 'success') return false;
    const ruleResult = typeof rule === 'function' ? rule(result, messages[lastIndex]!) : rule;
    return ruleResult ?? Boolean(toolOf(tools.current, result.name)?.returnDirect);
  };
  if (!results.every(isAnswer)) return [];
  return results.map(
    ({ name, output }) => toolOf(tools.current, name)?.answerIn?.(output) ?? output,
  );
}

/**
 * Returns an output as JSON. Keeps the text of JSON objects and arrays, and quotes any other text.
 */
function toJson(output: MessageContent): string {
  const text = contentText(output);
  return isObjectOrArray(parseJson(text)) ? text : JSON.stringify(text);
}
