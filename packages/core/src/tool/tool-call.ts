import type { CallState, OpenCall } from '../event/agent-status.ts';
import type { Decision, PendingCall } from '../event/pending-call.ts';
import { isObjectOrArray, jsonForm, type JsonValue, type JsonObject } from '../message/json.ts';
import { longIntegersIn, type LongInteger } from '../message/call-arguments.ts';
import type { ToolUse, ToolResult, ToolResultState, MessageContent } from '../message/msg.ts';
import type { Path } from '../schema/schema.ts';
import { typeAt } from '../schema/type-at.ts';
import type { Tool, ToolContent, ToolOutput } from './tool.ts';
import { toolOf, type ToolSet } from './set/tool-set.ts';
import { isError, errorText, fieldOf } from '../error/agent-error.ts';
import { isBlock, isCompleteBlock, isToolResult } from '../message/is-message.ts';
import { checkFields } from '../error/options/check-fields.ts';
import { oneOf } from '../error/options/kinds.ts';
import type { FieldTable } from '../error/options/option-table.ts';

/** Tool call whose tool exists and whose arguments passed the schema. */
export interface ReadyCall {
  readonly ok: true;
  readonly tool: Tool;
  readonly toolUse: ToolUse;
  readonly input: unknown;
}

/** A tool call as `wrapTool` gets it. Its arguments are valid. */
export interface ToolCall extends ReadyCall {
  /** What the log said about the tool call when its round began. */
  readonly state: Readonly<CallState>;
  /** A person's decision about the tool call. */
  readonly decision: Decision | undefined;
  /** What the tool call waited for before `decision`. */
  readonly waitedFor: PendingCall | undefined;
  /** What middleware put around the `execute` of the tool with `withExecute`, outermost first. */
  readonly around: readonly ExecuteWrapper[];
  /**
   * Checks another form of the tool call, such as one with edited arguments. Returns it ready to
   * run, or the problem as text for the model.
   */
  prepare(toolUse: ToolUse): Promise<PreparedCall>;
}

export type Execute = NonNullable<Tool['execute']>;

/**
 * Runs around the `execute` of a tool. `next` is the tool's own function, or the next one inside.
 */
export type ExecuteWrapper = (next: Execute, ...args: Parameters<Execute>) => ReturnType<Execute>;

/**
 * Returns the call with a function around the `execute` of its tool. Use it in `wrapTool` to change
 * the arguments, the context or the result, and to run a tool again. Of several functions, that of
 * the first middleware in `use` is the outermost. It is not called for a tool without `execute`.
 */
export function withExecute(call: ToolCall, execute: ExecuteWrapper): ToolCall {
  return { ...call, around: [...call.around, execute] };
}

/** A tool call that can run, or its problem as text for the model. */
export type PreparedCall =
  | ReadyCall
  | { readonly ok: false; readonly problem: string; readonly toolUse: ToolUse };

/** Returns whether a tool call was checked and has no outcome yet. */
export function isPreparedCall(call: PreparedCall | ToolOutcome): call is PreparedCall {
  return 'ok' in call;
}

/** End of the problem of wrong arguments: what the model has to do. */
export const correctThem = '\nCorrect them.';

/** Checks whether a tool call can run. If not, returns the problem as text for the model. */
export async function prepareCall(tools: ToolSet, toolUse: ToolUse): Promise<PreparedCall> {
  const { name, raw } = toolUse;
  const refuse = (problem: string) => ({ ok: false, problem, toolUse }) as const;
  const tool = tools.find(name);
  if (typeof tool === 'string') return refuse(tool);
  if (!tool) {
    const names = tools.schemas().map((schema) => schema.name);
    return refuse(`Tool not found: ${name}. Available: ${names.join(', ') || 'none'}.`);
  }
  const misfit = (issues: readonly string[]) => {
    const list = ['', ...issues].join('\n- ');
    return refuse(`The arguments of "${name}" do not fit its schema:${list}${correctThem}`);
  };
  const isNull = toolUse.input === null && (raw === undefined || raw.trim() === 'null');
  if (toolUse.input === null && !isNull) return misfit(['they are not valid JSON']);
  // Some models send `null` for a tool without parameters.
  const input = isNull && needsNothing(tool) ? {} : toolUse.input;
  const longIntegers = longIntegersIn(toolUse).filter(({ path }) => {
    const type = typeAt(tool.input.jsonSchema, path);
    return type === 'integer' || type === 'number';
  });
  if (longIntegers.length) return misfit(longIntegers.map(longIntegerIssue));
  let validation = await tool.input.validate(input);
  if (!validation.ok) {
    const { issues, paths = [] } = validation;
    const inputWithoutNulls = structuredClone(input);
    for (const path of paths) dropNull(inputWithoutNulls, path);
    validation = await tool.input.validate(inputWithoutNulls);
    if (!validation.ok) return misfit(issues);
  }
  return { ok: true, tool, toolUse, input: validation.value };
}

function longIntegerIssue({ path, digits }: LongInteger): string {
  const limit = `numbers are exact up to ${Number.MAX_SAFE_INTEGER}`;
  return `${path.join('.')}: ${digits} would be rounded, ${limit}. Give its digits as a string`;
}

/** Returns whether an object without fields has all arguments that a tool needs. */
function needsNothing({ schema }: Tool): boolean {
  const { type, required } = schema.parameters;
  return type === 'object' && !(Array.isArray(required) && required.length);
}

/**
 * Drops the `null` on the way from a value to a place in it. Models write `null` for optional
 * arguments. `path`: a place that the validation rejected.
 */
function dropNull(value: JsonValue, [key, ...rest]: Path): void {
  // A value inherits fields that are no part of it, such as `__proto__`.
  if (key === undefined || !isObjectOrArray(value) || !Object.hasOwn(value, key)) return;
  const fields = value as Record<string, JsonValue>;
  if (fields[key] !== null) dropNull(fields[key]!, rest);
  // In a list, the places of the other items would change.
  else if (!Array.isArray(value)) delete fields[key];
}

/** Outcome of a tool call. Without a result, the tool call stays open. */
export type ToolOutcome = ToolResult | Suspension | NotStarted;

/** Outcome of a tool call that waits for somebody. */
export interface Suspension {
  readonly suspended: true;
  /** Reason for the wait, for the person who decides. */
  readonly reason?: string;
  /** What the tool call waits for. Default: `suspended`, because the tool asked to wait. */
  readonly kind?: PendingCall['kind'];
  /** Whether the tool is a child agent that waits only for approvals. */
  readonly forApproval?: true;
  readonly details?: JsonObject;
}

/** Outcome of a tool call whose tool has not started. */
interface NotStarted {
  readonly notStarted: true;
}

/** Outcome that leaves a tool call open. The next model request closes it as interrupted. */
export const notStarted: NotStarted = { notStarted: true };

/** Returns an open tool call as one that has not started, unless the log says whether it has. */
export function withoutStart(call: OpenCall): OpenCall {
  return call.isNoted ? call : { ...call, state: { ...call.state, started: false } };
}

/** Returns whether a tool call has a result. It has none if it is suspended or has not started. */
export function hasResult(outcome: ToolOutcome): outcome is ToolResult {
  return 'type' in outcome;
}

/** Returns whether a value, which a tool or a wrapper made, is a suspension. */
export function isSuspension(value: unknown): value is Suspension {
  return fieldOf(value, 'suspended') === true;
}

export function isNotStarted(value: unknown): value is NotStarted {
  return fieldOf(value, 'notStarted') === true;
}

export function toolResult(
  toolUse: ToolUse,
  output: MessageContent,
  state: ToolResultState,
): ToolResult {
  return { type: 'tool_result', toolUseId: toolUse.id, name: toolUse.name, output, state };
}

/**
 * Returns an error result for the model. Sources of the prefix `Error: `: AgentScope; Arc Reactor.
 */
export function errorResult(toolUse: ToolUse, message: string): ToolResult {
  return toolResult(toolUse, `Error: ${message}`, 'error');
}

/** Returns the result of a rejected tool call, with state `denied`. */
export function deniedResult(toolUse: ToolUse, reason = 'no reason given'): ToolResult {
  return toolResult(toolUse, `Tool call rejected: ${reason}`, 'denied');
}

/**
 * Returns an open tool call with what a person decided about it. A rejection and a result become
 * its `result`. An edit replaces its arguments.
 */
export function withDecision(call: OpenCall, tools: ToolSet): OpenCall {
  const { toolUse, state } = call;
  const { decision } = state;
  if (!decision || isForTool(state, tools)) return call;
  switch (decision.type) {
    case 'approve':
      return call;
    case 'edit':
      return { ...call, toolUse: withInput(toolUse, decision.input) };
    case 'reject':
      return { ...call, result: deniedResult(toolUse, decision.reason) };
    case 'result': {
      const { output, state: resultState = 'success' } = decision;
      return { ...call, result: toolResult(toolUse, output, resultState) };
    }
  }
}

/** Returns a tool call with other arguments, without the text that the model wrote. */
export function withInput({ raw: _raw, ...toolUse }: ToolUse, input: JsonValue): ToolUse {
  return { ...toolUse, input };
}

/**
 * Returns whether the tool itself gets the decision about its call. An example is an agent tool
 * whose child agent has pending tool calls.
 */
export function isForTool({ waitedFor }: CallState, tools: ToolSet): boolean {
  if (waitedFor?.kind !== 'suspended') return false;
  const tool = toolOf(tools, waitedFor.name);
  // The answer to a tool that is gone now is not the tool's result.
  return Boolean(tool ? tool.takesDecisions : waitedFor.details);
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
  const waitedFor = state.pending ?? state.waitedFor;
  return waitedFor !== undefined && waitedFor.kind !== 'approval';
}

/**
 * Returns a tool's output as a result for the model. An error becomes an error result. So does a
 * value without a JSON form; the result then says what the tool has to return.
 */
export function outputResult(toolUse: ToolUse, output: ToolOutput = ''): ToolResult {
  if (typeof output === 'string') return toolResult(toolUse, output, 'success');
  const what = `The result of "${toolUse.name}"`;
  return inJsonForm(toolUse, output, what, (form) => {
    if (!isToolContent(form)) {
      const result = toolResult(toolUse, JSON.stringify(form) ?? '', 'success');
      return { ...result, providerMetadata: { json: true } };
    }
    const invalidIndex = form.content.findIndex((block) => !isCompleteBlock(block));
    if (invalidIndex < 0) return toolResult(toolUse, form.content, 'success');
    const problem = `${what} has an incomplete block at content[${invalidIndex}]`;
    return errorResult(toolUse, `${problem}. Return blocks of text, image, audio, video or file.`);
  });
}

/**
 * Returns a copy of the tool result that middleware gave, in JSON form for the log. The copy has
 * the id and the name of this call, because the result may be that of an earlier one. If middleware
 * gave anything else, or a result with an unknown `state`, returns an error result that says so.
 */
export function wrappedResult(
  toolUse: ToolUse,
  result: unknown,
  what: string = `The result for "${toolUse.name}"`,
): ToolResult {
  return inJsonForm(toolUse, result, what, (form: unknown) => {
    if (!isToolResult(form))
      return errorResult(toolUse, `${what} must be a \`ToolResult\`, such as that of \`next\`.`);
    checkFields(what, form, resultFields);
    return { ...form, toolUseId: toolUse.id, name: toolUse.name };
  });
}

const resultFields: FieldTable<ToolResult> = {
  state: oneOf('success', 'error', 'denied', 'interrupted'),
};

/**
 * Returns the result that `readForm` makes from the JSON form of a value. Returns an error result
 * if the value is an error or has no JSON form. `what`: name of the value in errors.
 */
function inJsonForm(
  toolUse: ToolUse,
  value: unknown,
  what: string,
  readForm: (form: JsonValue | undefined) => ToolResult,
): ToolResult {
  try {
    if (isError(value)) throw value;
    return readForm(jsonForm(value, what));
  } catch (error) {
    return errorResult(toolUse, errorText(error));
  }
}

/** Returns whether a tool's output is a list of blocks for the model. */
export function isToolContent(output: unknown): output is ToolContent {
  const content = isObjectOrArray(output) && output['content'];
  return Array.isArray(content) && content.length > 0 && content.every(isBlock);
}
