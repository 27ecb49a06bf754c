import type { CallState } from '../event/call-state.ts';
import type { Decision, PendingCall } from '../event/pending-call.ts';
import type { JsonValue } from '../message/json/json.ts';
import type { ToolUse } from '../message/content-block.ts';
import type { Path } from '../schema/schema.ts';
import type { Tool } from './tool.ts';
import type { ToolSet } from './set/tool-set.ts';
import type { ToolOutcome } from './tool-outcome.ts';
import { isRecord } from '../message/json/is-record.ts';

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
  readonly pending: PendingCall | undefined;
  /**
   * Checks another form of the tool call, such as one with edited arguments. Returns it ready to
   * run, or the problem as text for the model.
   */
  prepare(toolUse: ToolUse): Promise<Prepared>;
}

/**
 * Returns the call with another `execute` of its tool. `execute` gets the tool's own function first.
 * Use it in `wrapTool` to change the arguments, the context or the result, and to run a tool again.
 * It is not called for a tool without `execute`.
 */
export function withExecute<C extends ReadyCall>(
  call: C,
  execute: (run: Execute, ...given: Parameters<Execute>) => ReturnType<Execute>,
): C {
  const { tool } = call;
  return { ...call, tool: { ...tool, execute: (...given) => execute(tool.execute!, ...given) } };
}

type Execute = NonNullable<Tool['execute']>;

/** A tool call that can run, or its problem as text for the model. */
export type Prepared =
  | ReadyCall
  | { readonly ok: false; readonly problem: string; readonly toolUse: ToolUse };

/** Returns whether a tool call was checked and has no outcome yet. */
export function isPrepared(made: Prepared | ToolOutcome): made is Prepared {
  return 'ok' in made;
}

/** Checks whether a tool call can run. If not, returns the problem as text for the model. */
export async function prepareCall(tools: ToolSet, toolUse: ToolUse): Promise<Prepared> {
  const { name, input, raw } = toolUse;
  const refuse = (problem: string) => ({ ok: false, problem, toolUse }) as const;
  const tool = tools.find(name);
  if (typeof tool === 'string') return refuse(tool);
  if (!tool) {
    const names = tools.schemas().map((schema) => schema.name);
    return refuse(`Tool not found: ${name}. Available: ${names.join(', ') || 'none'}.`);
  }
  const misfit = (issues: readonly string[]) => {
    const list = issues.map((issue) => `- ${issue}`).join('\n');
    return refuse(`The arguments of "${name}" do not fit its schema:\n${list}\nCorrect them.`);
  };
  if (input === null && raw) return misfit(['they are not valid JSON']);
  const checked = await tool.input.validate(input);
  if (checked.ok) return { ok: true, tool, toolUse, input: checked.value };
  const again = await tool.input.validate(dropNulls(input, checked.paths ?? []));
  return again.ok ? { ok: true, tool, toolUse, input: again.value } : misfit(checked.issues);
}

/**
 * Returns a tool call's arguments without the `null` values that do not fit the schema. Models
 * write such values for optional arguments. `paths`: places that the validation rejected.
 */
function dropNulls(value: JsonValue, paths: readonly Path[]): JsonValue {
  if (!isRecord(value) || !paths.length) return value;
  const within = (key: string): readonly Path[] =>
    paths.flatMap(([first, ...rest]) => (first === key ? [rest] : []));
  if (Array.isArray(value))
    return value.map((item: JsonValue, index) => dropNulls(item, within(String(index))));
  const kept = Object.entries(value).flatMap(([key, item]) => {
    const own = within(key);
    return item === null && own.length ? [] : [[key, dropNulls(item, own)] as const];
  });
  return Object.fromEntries(kept);
}
