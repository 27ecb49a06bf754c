import type { ToolResult } from '../message/content-block.ts';
import { isRecord } from '../message/json/is-record.ts';
import { plainText } from '../message/media/media.ts';
import { toolResultsOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';
import { parseJson } from '../message/json/parse-json.ts';
import type { Tool } from '../tool/tool.ts';
import type { LoopSteps } from './loop-steps.ts';
import type { RunContext } from './run/run-context.ts';
import { runOf } from './run/run-view.ts';

/**
 * Whether tool results become the answer without another model request (OxyGent: `trust_mode`).
 * `true`: results of every tool. `false`: results of no tool. A function decides for each result;
 * `reply` is the model's message with the tool call. If the function returns `undefined`, the
 * tool's own `returnDirect` counts.
 */
export type ReturnDirect = boolean | ((result: ToolResult, reply: Msg) => boolean | undefined);

/**
 * Function that returns an answer without a model request, or `undefined`. The loop calls it before
 * each model request.
 */
export type DirectAnswer = (
  context: RunContext,
  steps: LoopSteps,
) => Msg | undefined | Promise<Msg | undefined>;

/**
 * Returns the outputs of tools as the answer, if the newest messages are tool results. Every result
 * must be successful and have `returnDirect`. Several outputs become a JSON array in the order of
 * the tool calls. If the agent call has an `output`, returns `undefined`, because the model must
 * produce the value.
 */
export function directAnswer(context: RunContext): Msg | undefined {
  const run = runOf(context);
  const { view, tools, output } = run;
  const { returnDirect = run.setup.options.returnDirect } = run.options;
  const last = view.findLastIndex(({ role }) => role !== 'tool');
  const results = view.slice(last + 1).flatMap(toolResultsOf);
  const isDirect = (result: ToolResult): boolean | undefined =>
    result.state === 'success' &&
    ((typeof returnDirect === 'function' ? returnDirect(result, view[last]!) : returnDirect) ??
      (tools.find(result.name) as Tool | undefined)?.returnDirect);
  if (output || !results.length || !results.every(isDirect)) return undefined;
  return run.message(
    'assistant',
    results[1] ? `[${results.map(toJson).join()}]` : results[0]!.output,
  );
}

/**
 * Returns an output as JSON (Spring AI Alibaba: `ReturnDirectModelHook`). Keeps the text of JSON
 * objects and arrays, and quotes any other text.
 */
function toJson({ output }: ToolResult): string {
  const text = plainText(output);
  return isRecord(parseJson(text)) ? text : JSON.stringify(text);
}
