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
 * Trust mode (OxyGent: `trust_mode`): whether tools' results are the answer. `true`: of every tool,
 * `false`: of none; a function decides about a result by it and the reply that asked for it, and
 * leaves it to the tool where it gives nothing.
 */
export type ReturnDirect = boolean | ((result: ToolResult, reply: Msg) => boolean | undefined);

/** The answer that needs no model, where there is one; asked before each request. */
export type DirectAnswer = (
  context: RunContext,
  steps: LoopSteps,
) => Msg | undefined | Promise<Msg | undefined>;

/**
 * The answer, where a round of calls has just ended, all of them well and none for the model: what
 * the tool gave, or of several calls a JSON array in the order they were asked for. A value asked
 * for with `output` is the model's to give.
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
 * Objects and arrays as they are, anything else as a text (Spring AI Alibaba:
 * `ReturnDirectModelHook`).
 */
function toJson({ output }: ToolResult): string {
  const text = outputText(output);
  return isRecord(parseJson(text)) ? text : JSON.stringify(text);
}
