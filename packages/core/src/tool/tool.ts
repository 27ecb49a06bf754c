import type { DataPart } from '../message/provider-metadata.ts';
import type { Decision, PendingCall } from '../event/pending-call.ts';
import { misconfigured } from '../error/agent-error.ts';
import { checkFields } from '../error/options/check-fields.ts';
import { checkOptions } from '../error/options/check-options.ts';
import {
  anything,
  array,
  boolean,
  either,
  func,
  nonNegative,
  object,
  oneOf,
  optional,
  string,
  withMethod,
} from '../error/options/kinds.ts';
import type { FieldTable, OptionTable, OtherNames } from '../error/options/option-table.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import type { InterruptRequest } from '../event/interrupt-request.ts';
import type { ContentBlock, MessageContent, ToolUse, Msg } from '../message/msg.ts';
import { isRecord, type JsonObject, type JsonValue } from '../message/json.ts';
import type { ToolSchema, RunInfo } from '../model/chat-model.ts';
import { parametersIssue } from '../model/formatter/wire-schema.ts';
import {
  toSchema,
  type Schema,
  type InferInput,
  type InferOutput,
  type SchemaLike,
} from '../schema/schema.ts';
import type { ContextToken } from './context-token.ts';
import type { ForkOptions, ToolSet } from './set/tool-set.ts';

/**
 * What `execute` of a tool gets beside its input: signals, the ids of the run, and functions that
 * report progress or ask a person. `Data`: types of the tool's data parts by name. Default: any
 * JSON.
 */
export interface ToolContext<Data = unknown> extends RunInfo {
  /** Signal that aborts when the tool call is aborted or times out. Pass it to `fetch`. */
  readonly signal: AbortSignal;
  /**
   * Signal that aborts when somebody interrupts the agent call. The tool may then end early; the
   * agent call waits for the tool's end. Absent for tools that run on a page.
   */
  readonly interruptSignal?: AbortSignal;
  readonly toolUseId: string;
  /** Messages of the conversation, as the model received them. */
  readonly messages: readonly Msg[];
  /** Key that is the same for every attempt at the same tool call. */
  readonly idempotencyKey: string;
  /**
   * Sends a copy of the value to hooks and to readers of the stream. The model never sees the
   * value. Throws `INVALID_INPUT` if the value has no JSON form. A data part, such as
   * `{ type: 'data-chart', data }`, becomes AI SDK's part of this type. Source: AgentScope,
   * `ToolEmitter`.
   */
  emit(progress: Progress<Data>): void;
  /** Adds events of another agent to this run's stream. Readers get these events; hooks do not. */
  forward(events: readonly AgentEvent[]): void;
  /**
   * Returns the value for a token. A value of the agent call comes first, then one of the agent,
   * then one of the toolkit. Throws `CONFIGURATION` if none of them has a value for the token.
   */
  get<T>(token: ContextToken<T>): T;
  /**
   * Ends this tool call without a result. The run finishes the other tool calls and ends as
   * `suspended`. A decision in a later agent call ends this tool call. `details` are stored and
   * shown with the pending tool call. Never returns. Source: AgentScope, `ToolSuspendException`.
   */
  suspend(reason?: string, details?: JsonObject): never;
  /**
   * Asks the agent call to stop, to pause or to add messages, like `agent.interrupt()`. The request
   * takes effect when the running tools have ended. Returns false and does nothing if the agent
   * call is about to end.
   */
  interrupt(request?: string | Msg | InterruptRequest): boolean;
  /**
   * Decision about this tool call. Present if the tool runs again after `suspend` and has
   * `takesDecisions`.
   */
  readonly decision?: Decision | undefined;
  /** What this tool call waited for before `decision`. */
  readonly waitedFor?: PendingCall | undefined;
}

/**
 * Output of a tool. The model gets a string unchanged, `undefined` as an empty string, and any
 * other value as JSON text. Maps, sets, typed arrays, `NaN` and errors inside a value become JSON
 * too. A returned `Error` becomes an error result, as if the tool had thrown it. A value without a
 * JSON form, such as a cycle or a `Response`, also becomes an error result.
 */
export type ToolOutput = JsonValue | undefined | object;

/**
 * What `tool()` makes a tool of: its name, description and schema for the model, and the function
 * to run.
 */
export interface ToolOptions<
  S extends SchemaLike,
  Name extends string = string,
  Output extends ToolOutput | void = ToolOutput,
  Data = unknown,
  Preset extends JsonObject = JsonObject,
> {
  /** Tool name: at most 64 letters, digits, `_` and `-`, which every provider accepts. */
  readonly name: Name;
  readonly description: string;
  /**
   * Schema of the arguments: Zod, any Standard Schema with JSON Schema, or plain JSON Schema. Plain
   * JSON Schema must describe an object. Arguments that are an object are not checked against it.
   * Wrap it in `jsonSchema()` to check them. The model writes JSON, so each type needs a JSON form.
   * A date is `z.iso.datetime()`, or `z.iso.datetime().pipe(z.coerce.date())` to get a `Date`.
   */
  readonly input: S;
  /**
   * Maximum time of one tool call, in milliseconds. Default: 300,000, which is 5 minutes. Source:
   * AgentScope, tool execution defaults.
   */
  readonly timeoutMs?: number;
  /** Whether to ask the provider to enforce the schema. Some providers cannot. */
  readonly strict?: boolean;
  /**
   * Values for parameters that are hidden from the model. Each name must be a property of the
   * schema. The values are added before the arguments are validated. Source: AgentScope, preset
   * parameters.
   */
  readonly preset?: Preset;
  /**
   * Tool group or groups of the `Toolkit` that the tool belongs to. A tool without a group is
   * always active. Only a `Toolkit` accepts a tool with a group.
   */
  readonly group?: string | readonly string[];
  /**
   * Whether somebody has to approve a tool call before it runs. The tool call is suspended until
   * then. Default: false.
   */
  readonly needsApproval?:
    | boolean
    | ((input: InferOutput<S>, call: ToolUse) => boolean | Promise<boolean>);
  /**
   * What happens to a tool call that started but has no stored result, for example after a crash.
   * `safe`: the tool runs again. `ask`: somebody decides. `never`: the model gets the result that
   * the tool call was interrupted. Default: `never`.
   */
  readonly replay?: ReplayPolicy;
  /**
   * Whether the tool's result is the agent's answer. If all tool calls of one model reply have this
   * option and succeed, the run does not ask the model again. The run then ends with reason
   * `return-direct`. Default: false. Source: Spring AI Alibaba, `returnDirect`.
   */
  readonly returnDirect?: boolean;
  /**
   * Name of the MCP server that has the tool. `mcpTools` sets it; your own tools have none. Without
   * the option `by`, `selectTools` puts your own tools before the tools of servers.
   */
  readonly server?: string;
  /**
   * Function that runs the tool. Without this function the tool is external: each tool call is
   * suspended, and you pass its result to the next agent call.
   */
  readonly execute?: (
    input: InferOutput<S>,
    context: ToolContext<Data>,
  ) => Output | Promise<Output>;
}

/**
 * What happens to a tool call that had started when its process died. `safe`: the tool runs again.
 * `ask`: a person decides. `never`: the call gets an `interrupted` result.
 */
export type ReplayPolicy = 'safe' | 'ask' | 'never';

/** Tool of an agent or a toolkit. `tool()` makes one. */
export interface Tool {
  readonly name: string;
  /** Maximum time of one tool call, in milliseconds. Default: 300,000, which is 5 minutes. */
  readonly timeoutMs?: number;
  readonly input: Schema<unknown>;
  /** Name, description and parameters that the model sees. */
  readonly schema: ToolSchema;
  readonly groups?: readonly string[];
  readonly preset?: JsonObject;
  readonly needsApproval?:
    | boolean
    | ((input: unknown, call: ToolUse) => boolean | Promise<boolean>);
  readonly replay?: ReplayPolicy;
  readonly returnDirect?: boolean;
  /** Name of the MCP server that has the tool. Absent for the program's own tools. */
  readonly server?: string;
  /**
   * Returns whether a tool call may wait for an approval even without `needsApproval`. An example
   * is an agent tool whose child agent asks for approvals.
   */
  readonly mayNeedApproval?: () => boolean;
  /**
   * Whether each decision about a suspended tool call runs the tool again, with the decision in its
   * context. A `result` or `reject` decision then runs the tool again too, instead of ending the
   * tool call.
   */
  readonly takesDecisions?: boolean;
  /**
   * Names of further middleware that an agent with this tool must have. An agent without them
   * refuses the tool with `CONFIGURATION`.
   */
  readonly requires?: readonly string[];
  /**
   * Whether `selectTools()` keeps the tool in every request by default. An example is a tool that
   * finds other tools.
   */
  readonly alwaysOffered?: boolean;
  /**
   * Whether the arguments of a tool call are the answer, as with the tool of `structured()`.
   * `allowTools()` keeps such a tool, and limits do not count its calls.
   */
  readonly givesAnswer?: boolean;
  /**
   * Returns what users get if an output of the tool is the answer. Absent: the whole output. An
   * agent tool leaves out the session id, which only the model needs.
   */
  readonly answerIn?: (output: MessageContent) => MessageContent;
  /**
   * Returns the tool for `set`, with another preset or with its own state. Each tool set calls this
   * method for each of its tools, so that two sets never share a tool's state. Absent if the tool
   * has no state.
   */
  fork?(changes: ToolChanges, set: ToolSet): Tool;
  readonly execute?: (input: unknown, context: ToolContext) => ToolOutput | Promise<ToolOutput>;
}

/** What changes in the copy of one tool. */
interface ToolChanges extends ForkOptions {
  /** Preset that replaces the preset of the tool. */
  readonly preset?: JsonObject;
}

/**
 * Output of a tool that consists of text and media blocks. The model gets these blocks instead of
 * JSON text.
 */
export interface ToolContent {
  readonly content: readonly ContentBlock[];
}

/**
 * Creates a tool. `execute` gets input that passed the schema. If `execute` throws, the model gets
 * an error result. Throws `CONFIGURATION` for a name that providers would refuse, and for a preset
 * that is not a parameter of the tool. Also throws it for a schema without JSON Schema, and for
 * one that accepts no object. Forks of the tool pass the second parameter.
 *
 * @example
 * const weather = tool({
 *   name: 'weather',
 *   description: 'Current weather of a city',
 *   input: z.object({ city: z.string() }),
 *   execute: async ({ city }, { signal }) => fetchWeather(city, signal),
 * });
 */
export function tool<
  const S extends SchemaLike,
  const Name extends string = string,
  Output extends ToolOutput | void = ToolOutput,
  Data = unknown,
  const Preset extends JsonObject = {},
>(
  options: ToolOptions<S, Name, Output, Data, Preset>,
  { presetPriority = 'preset' }: ForkOptions = {},
): TypedTool<Name, InputWithout<InferInput<S>, Preset>, Output, Data> {
  checkNoSchema(options);
  checkOptions('tool()', options, toolOptions, 'CONFIGURATION', otherToolNames);
  return makeTool(options as unknown as ToolOptions<S>, presetPriority) as Tool as TypedTool<
    Name,
    InputWithout<InferInput<S>, Preset>,
    Output,
    Data
  >;
}

const toolOptions: OptionTable<
  ToolOptions<SchemaLike> & Omit<Tool, keyof ToolOptions<SchemaLike>>
> = {
  name: string,
  description: string,
  input: either(object, func),
  timeoutMs: optional(nonNegative),
  strict: optional(boolean),
  returnDirect: optional(boolean),
  preset: optional(object),
  group: optional(either(string, array)),
  needsApproval: optional(either(boolean, func)),
  replay: optional(oneOf('safe', 'ask', 'never')),
  server: optional(string),
  execute: optional(func),
  // The fields of a finished tool are allowed too, so that `tool({ ...other, description })` can
  // copy a tool.
  groups: anything,
  schema: anything,
  fork: anything,
  mayNeedApproval: anything,
  takesDecisions: anything,
  requires: anything,
  alwaysOffered: anything,
  givesAnswer: anything,
  answerIn: anything,
};

/**
 * Throws `CONFIGURATION` for the option `schema` of other libraries. A finished tool has a field of
 * this name, so it is not an unknown option.
 */
function checkNoSchema(options: { readonly input?: unknown; readonly schema?: unknown }): void {
  if (options?.schema === undefined || options.input !== undefined) return;
  throw misconfigured('tool(): `schema` is not the option for the arguments. Use `input`.');
}

/** Names that other libraries use for the options of a tool. */
const otherToolNames: OtherNames<ToolOptions<SchemaLike>> = {
  name: ['id'],
  input: ['inputSchema', 'parameters'],
  execute: ['func', 'handler', 'run', 'invoke'],
  needsApproval: ['requireApproval'],
  timeoutMs: ['timeout'],
};

/** Throws `CONFIGURATION` for a value that is not a tool, such as the options of `tool()`. */
export function checkTool(value: unknown): void {
  checkFields('A tool made without tool()', value, toolFields);
}

const toolFields: FieldTable<Tool> = {
  name: string,
  schema: object,
  input: withMethod('validate'),
};

function makeTool<const S extends SchemaLike>(
  options: ToolOptions<S>,
  presetPriority: 'preset' | 'model',
): Tool {
  const { name, description, strict, preset, group = [] } = options;
  if (!/^[\w-]{1,64}$/.test(name)) {
    throw misconfigured(`"${name}" is not a tool name. Use at most 64 letters, digits, _ and -.`);
  }
  const whole = toSchema(options.input, `The input of the tool "${name}"`);
  const issue = parametersIssue(whole.jsonSchema);
  if (issue) throw misconfigured(`The input of the tool "${name}" ${issue}.`);
  const input = preset ? presetInput(name, whole, preset, presetPriority) : whole;
  return {
    ...(options as Omit<typeof options, 'needsApproval' | 'execute'> &
      Pick<Tool, 'needsApproval' | 'execute'>),
    groups: [group].flat(),
    input,
    schema: { name, description, parameters: input.jsonSchema, strict },
    // Uses `this`, so that the forks of a copy such as `{ ...tool, returnDirect: true }` keep the
    // copy's fields.
    fork(changes) {
      const priority = changes.presetPriority ?? presetPriority;
      if (priority === presetPriority && !changes.preset) return this;
      const changed = { ...this, input: options.input, ...changes };
      return makeTool(changed as unknown as typeof options, priority);
    },
  };
}

/**
 * Returns the schema without the preset parameters. Its `validate` adds the preset values to the
 * arguments and then checks all of them.
 */
function presetInput(
  name: string,
  whole: Schema<unknown>,
  preset: JsonObject,
  priority: ForkOptions['presetPriority'],
): Schema<unknown> {
  const { properties, required, ...rest } = whole.jsonSchema as {
    readonly properties?: JsonObject;
    readonly required?: readonly string[];
  };
  const visibleFields = { ...properties };
  for (const key of Object.keys(preset)) {
    if (!Object.hasOwn(visibleFields, key))
      throw misconfigured(
        `The preset of the tool "${name}" sets "${key}", but the tool has no parameter "${key}". ` +
          `It has: ${Object.keys(properties ?? {}).join(', ') || 'none'}.`,
      );
    delete visibleFields[key];
  }
  return {
    jsonSchema: {
      ...rest,
      properties: visibleFields,
      required: required?.filter((key) => key in visibleFields),
    } as JsonObject,
    validate: (value) =>
      isRecord(value)
        ? whole.validate({ ...preset, ...value, ...(priority === 'preset' && preset) })
        : { ok: false, issues: ['they are not an object'] },
  };
}

/** Tool with the types of its calls. `tool()` returns it. */
export interface TypedTool<
  Name extends string = string,
  Input = unknown,
  Output = unknown,
  Data = unknown,
> extends Tool {
  readonly name: Name;
  /** Type marker, never set. */
  readonly '~types'?: () => { readonly input: Input; readonly output: Output; readonly data: Data };
}

/** What an agent accepts as its tools. */
export type ToolSource = readonly Tool[] | ToolSet;

/** Type of the tools in an array or a tool set. */
export type ToolsOf<S extends ToolSource> = S extends readonly (infer T extends Tool)[]
  ? T
  : S extends ToolSet<infer T>
    ? T
    : never;

/** Data part with one of the declared names: AI SDK's `data-NAME` part. */
type DeclaredPart<Data> = {
  readonly [Name in keyof Data & string]: DataPart<Name, Data[Name]>;
}[keyof Data & string];

/** What a tool may emit. If it declares its data parts, an object has to be one of them. */
type Progress<Data> = unknown extends Data
  ? JsonValue
  : DeclaredPart<Data> | string | number | boolean | null | readonly JsonValue[];

/** Arguments that the model writes: all except those with a preset. */
type InputWithout<Input, Preset> = unknown extends Input
  ? Input
  : Input extends unknown
    ? { readonly [K in keyof Input as Exclude<K, keyof Preset>]: Input[K] }
    : never;

/**
 * Returns the names of the middleware that an agent needs for a tool. An agent without them must
 * not offer the tool.
 */
export function requiredMiddleware({
  requires = [],
  needsApproval,
  execute,
  replay,
  returnDirect,
}: Tool): readonly string[] {
  const needsDecisions = needsApproval || !execute || replay === 'ask';
  return [
    ...requires,
    ...(needsDecisions ? ['approvals'] : []),
    ...(returnDirect ? ['directAnswers'] : []),
  ];
}
