import { isError, messageOf } from '../error/agent-error.ts';
import type { CallState } from '../event/call-state.ts';
import type {
  ContentBlock,
  ToolResult,
  ToolResultState,
  ToolUse,
} from '../message/content-block.ts';
import { isBlock, isCompleteBlock, isToolResult } from '../message/validation/is-message.ts';
import { isRecord } from '../message/json/is-record.ts';
import type { JsonValue } from '../message/json/json.ts';
import { jsonForm } from '../message/json/json-form.ts';
import type { ToolContent, ToolOutput } from './tool.ts';

export function toolResult(
  toolUse: ToolUse,
  output: string | readonly ContentBlock[],
  state: ToolResultState,
): ToolResult {
  return { type: 'tool_result', toolUseId: toolUse.id, name: toolUse.name, output, state };
}

/**
 * Returns an error result for the model. The prefix `Error: ` is the one of AgentScope and Arc
 * Reactor.
 */
export function errorResult(toolUse: ToolUse, message: string): ToolResult {
  return toolResult(toolUse, `Error: ${message}`, 'error');
}

/** Returns the result of a rejected tool call, with state `denied`. */
export function deniedResult(toolUse: ToolUse, reason = 'no reason given'): ToolResult {
  return toolResult(toolUse, `Tool call rejected: ${reason}`, 'denied');
}

/**
 * Returns the result of an interrupted tool call. Without a `state`, nobody knows whether the tool
 * ran.
 */
export function interruptedResult(toolUse: ToolUse, state?: CallState): ToolResult {
  return toolResult(
    toolUse,
    `Interrupted before it ${mayHaveStarted(state) ? 'finished; its effect is unknown' : 'ran'}.`,
    'interrupted',
  );
}

/**
 * Returns whether a tool call may have started. Without a state, another host ran the tool call. A
 * pending tool call has started, except one that waits for approval.
 */
export function mayHaveStarted(state: CallState | undefined): boolean {
  if (!state || state.started) return true;
  // A decision does not tell what the tool did before it.
  const { kind = 'approval' } = state.pending ?? state.waited ?? {};
  return kind !== 'approval';
}

/**
 * Returns a tool's output as a result for the model. An error becomes an error result. So does a
 * value without a JSON form; the result then says what the tool has to return.
 */
export function outputResult(toolUse: ToolUse, output: ToolOutput = ''): ToolResult {
  return inJsonForm(toolUse, output, `The result of "${toolUse.name}"`, (form, what) => {
    if (typeof output === 'string') return toolResult(toolUse, output, 'success');
    if (!isToolContent(form)) {
      const result = toolResult(toolUse, JSON.stringify(form) ?? '', 'success');
      return { ...result, providerMetadata: { json: true } };
    }
    const wrong = form.content.findIndex((block) => !isCompleteBlock(block));
    if (wrong < 0) return toolResult(toolUse, form.content, 'success');
    const problem = `${what} has an incomplete block at content[${wrong}]`;
    return errorResult(toolUse, `${problem}. Return blocks of text, image, audio, video or file.`);
  });
}

/**
 * Returns a copy of the tool result that a `wrapTool` returned, in JSON form for the log. If it
 * returned anything else, returns an error result that says so.
 */
export function wrappedResult(toolUse: ToolUse, result: unknown): ToolResult {
  const wrapper = `The result of a \`wrapTool\` for "${toolUse.name}"`;
  return inJsonForm(toolUse, result, wrapper, (form: unknown, what) =>
    isToolResult(form)
      ? form
      : errorResult(toolUse, `${what} is not a tool result. Return the result of \`next\`.`),
  );
}

/**
 * Returns the result that `read` makes from the JSON form of a value. Returns an error result if the
 * value is an error or has no JSON form. `what`: name of the value in errors.
 */
function inJsonForm(
  toolUse: ToolUse,
  value: unknown,
  what: string,
  read: (form: JsonValue | undefined, what: string) => ToolResult,
): ToolResult {
  try {
    if (isError(value)) throw value;
    return read(jsonForm(value, what), what);
  } catch (error) {
    return errorResult(toolUse, messageOf(error));
  }
}

function isToolContent(output: unknown): output is ToolContent {
  const content = isRecord(output) && output['content'];
  return Array.isArray(content) && content.length > 0 && content.every(isBlock);
}
