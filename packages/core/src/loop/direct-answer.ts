import type { ToolResult } from '../message/content-block.ts';
import { isRecord } from '../message/is-record.ts';
import { outputText, toolResultsOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';
import { parseJson } from '../message/parse-json.ts';
import type { Tool } from '../tool/tool.ts';
import type { LoopSteps } from './loop-steps.ts';
import type { RunContext } from './run/run-context.ts';
import { runOf } from './run/run-view.ts';

/**
 * Whether tool results are the answer (OxyGent: `trust_mode`). `true`: of every tool; `false`: of
 * none. A function decides by the result and the reply that requested it. If it returns
 * `undefined`, the tool's own setting counts.
 */
export type ReturnDirect = boolean | ((result: ToolResult, reply: Msg) => boolean | undefined);

/** Returns an answer that needs no model, if there is one. The loop asks before each request. */
export type DirectAnswer = (
  context: RunContext,
  steps: LoopSteps,
) => Msg | undefined | Promise<Msg | undefined>;

/**
 * Returns the tools' output as the answer, if the newest messages are tool results. All results
 * must be successful and have `returnDirect`. Several outputs become a JSON array in the order of
 * the calls. If the call has an `output`, returns nothing: the model gives the value.
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
 * Returns objects and arrays unchanged, and any other output as a text (Spring AI Alibaba:
 * `ReturnDirectModelHook`).
 */
function toJson({ output }: ToolResult): string {
  const text = outputText(output);
  return isRecord(parseJson(text)) ? text : JSON.stringify(text);
}
