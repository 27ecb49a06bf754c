import type { Decision } from '../event/pending-call.ts';
import { AgentError, messageOf } from '../error/agent-error.ts';
import { checkFields, checkOptions } from '../error/check-fields.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import type { InterruptRequest } from '../event/interrupt-request.ts';
import type { ContentBlock, ToolUse } from '../message/content-block.ts';
import type { JsonObject, JsonValue } from '../message/json.ts';
import type { Msg } from '../message/msg.ts';
import type { ToolSchema } from '../model/chat-model.ts';
import type { Schema } from '../schema/schema.ts';
import { toSchema, type InferOutput, type SchemaLike } from '../schema/to-schema.ts';
import type { ContextToken } from './context-token.ts';
import { presetInput } from './preset.ts';
import type { ForkOptions, ToolSet } from './tool-set.ts';

export interface ToolContext {
  /** Signal that is aborted when the call is aborted or times out; pass it on to `fetch`. */
  readonly signal: AbortSignal;
  /**
   * Signal that is aborted when somebody interrupts the agent's call. The tool may end early; the
   * call waits for it. Absent for tools on a page.
   */
  readonly interruptSignal?: AbortSignal;
  /** Session of the agent. */
  readonly sessionId: string;
  readonly userId?: string | undefined;
  /** Id of the agent's run. */
  readonly runId: string;
  readonly toolUseId: string;
  /** Conversation as the model saw it. */
  readonly messages: readonly Msg[];
  /** Key that is the same for every attempt at the same call. */
  readonly idempotencyKey: string;
  /**
   * Sends progress to hooks and readers as a copy; the model never sees it (AgentScope:
   * `ToolEmitter`). Throws `INVALID_INPUT` if the value has no JSON form.
   */
  emit(progress: JsonValue): void;
  /** Names of the agents from the outermost one to the one that made this call. */
  readonly agentPath: readonly string[];
  /** Adds another agent's events to this run's stream for its readers; hooks do not see them. */
  forward(events: readonly AgentEvent[]): void;
  /**
   * Returns the value provided for a token by the call, else the agent, else the toolkit. Throws
   * `CONFIGURATION` if none of them provides one.
   */
  get<T>(token: ContextToken<T>): T;
  /**
   * Ends this tool call without a result. The run finishes the other calls and ends as `suspended`
   * until somebody decides (AgentScope: `ToolSuspendException`). Never returns.
   */
  suspend(reason: string): never;
  /**
   * Asks the agent's call to stop, to pause or to add messages, like `agent.interrupt()`. The
   * request takes effect once the call's tools have ended. Returns false and does nothing if the
   * call is about to end.
   */
  interrupt(request?: string | Msg | InterruptRequest): boolean;
  /**
   * Decision about this call, if it runs again after `suspend` and the tool has `takesDecisions`.
   */
  readonly decision?: Decision | undefined;
}

/**
 * Output of a tool. A string goes to the model unchanged, any other value as its JSON text
 * (`undefined` as an empty string). Maps, sets, typed arrays, `NaN` and errors inside a value become
 * JSON, too. An `Error` is an error result, as if the tool had thrown it. So is a value without a
 * JSON form, such as a cycle or a `Response`.
 */
export type ToolOutput = JsonValue | undefined | object;

export interface ToolOptions<S extends SchemaLike> {
  /** Tool name: at most 64 letters, digits, `_` and `-`, which every provider accepts. */
  readonly name: string;
  readonly description: string;
  /**
   * Zod, any Standard Schema with JSON Schema, or plain JSON Schema. Plain JSON Schema must be an
   * object schema. It goes to the model, but only `jsonSchema()` checks arguments against it.
   */
  readonly input: S;
  /**
   * Longest time of one call, in milliseconds; default 5 minutes (AgentScope: tool execution
   * defaults).
   */
  readonly timeoutMs?: number;
  /** Whether to ask the provider to enforce the schema, if it can. */
  readonly strict?: boolean;
  /**
   * Parameters that the model neither sees nor sets, with their values (AgentScope: preset
   * parameters). Their names are properties of the schema. They are added before the arguments are
   * validated.
   */
  readonly preset?: JsonObject;
  /**
   * Groups of the toolkit that this tool belongs to. A tool without a group is always active. Needs
   * a `Toolkit`.
   */
  readonly group?: string | readonly string[];
  /**
   * Whether somebody has to approve a call before it runs; the call is suspended until then.
   * Default false.
   */
  readonly needsApproval?:
    | boolean
    | ((input: InferOutput<S>, call: ToolUse) => boolean | Promise<boolean>);
  /**
   * Handling of a call that had started but lost its result. `safe` runs it again, `ask` asks
   * somebody, `never` (default) tells the model that it was interrupted.
   */
  readonly replay?: ReplayPolicy;
  /**
   * Whether the tool's result is the answer (Spring AI Alibaba: `returnDirect`). If all calls of a
   * round have this option and succeed, the run does not ask the model again. It ends with reason
   * `return-direct`. Default false.
   */
  readonly returnDirect?: boolean;
  /**
   * Server that the tool comes from; absent for your own tools. `mcpTools` sets it. `selectTools`
   * chooses among tools with a server.
   */
  readonly server?: string;
  /**
   * Function that runs the tool. Without it the tool is external: each call is suspended, and the
   * agent's next call gives its result.
   */
  readonly execute?: (
    input: InferOutput<S>,
    context: ToolContext,
  ) => ToolOutput | Promise<ToolOutput>;
}

export type ReplayPolicy = 'safe' | 'ask' | 'never';

/** Tool as a toolkit holds it; made by `tool()`. */
export interface Tool {
  readonly name: string;
  /** Longest time of one call, in milliseconds; default 5 minutes. */
  readonly timeoutMs?: number;
  readonly input: Schema<unknown>;
  /** Schema that the model sees. */
  readonly schema: ToolSchema;
  readonly groups?: readonly string[];
  readonly preset?: JsonObject;
  readonly needsApproval?:
    | boolean
    | ((input: unknown, call: ToolUse) => boolean | Promise<boolean>);
  readonly replay?: ReplayPolicy;
  readonly returnDirect?: boolean;
  /** Server that the tool comes from; absent for the program's own tools. */
  readonly server?: string;
  /**
   * Whether every decision about a suspended call runs the tool again, with the decision in its
   * context. Then a `result` or `reject` does not end the call either.
   */
  readonly takesDecisions?: boolean;
  /**
   * Whether `selectTools()` keeps the tool in every request by default, such as a tool that finds
   * other tools.
   */
  readonly alwaysOffered?: boolean;
  /**
   * Returns the tool for `set`, with another preset or with its own state. A set calls it for each
   * tool it gets, so that no two sets share a tool's state. Absent if the tool has no state.
   */
  fork?(changes: ToolChanges, set: ToolSet): Tool;
  readonly execute?: (input: unknown, context: ToolContext) => ToolOutput | Promise<ToolOutput>;
}

export interface ToolChanges extends ForkOptions {
  /** Preset that replaces the tool's own. */
  readonly preset?: JsonObject;
}

/** Media and text that a tool returns unchanged instead of as JSON. */
export interface ToolContent {
  readonly content: readonly ContentBlock[];
}

/**
 * Declares a tool. `execute` gets input that passed the schema. If it throws, the model sees an
 * error result. Throws `CONFIGURATION` for a name that providers would refuse, or a preset that is
 * not a parameter of the tool. The second parameter is for forks.
 */
export function tool<const S extends SchemaLike>(
  options: ToolOptions<S>,
  { presetPriority = 'preset' }: ForkOptions = {},
): Tool {
  checkOptions('CONFIGURATION', 'tool()', options, toolFields);
  return makeTool(options, presetPriority);
}

const toolFields =
  'name,description:string input:object|function timeoutMs:count|? strict,returnDirect:boolean|? ' +
  'preset:object|? group:string|array|? needsApproval:boolean|function|? replay:safe|ask|never|? ' +
  'server:string|? execute:function|? ' +
  // A tool's own fields are allowed too, so that a copy can be declared again:
  // `tool({ ...other, description })`.
  'groups:array|? schema:object|? fork:function|? takesDecisions:boolean|? alwaysOffered:boolean|?';

function makeTool<const S extends SchemaLike>(
  options: ToolOptions<S>,
  presetPriority: 'preset' | 'model',
): Tool {
  const { name, description, strict, preset, group = [] } = options;
  if (!/^[\w-]{1,64}$/.test(name)) {
    throw new AgentError(
      'CONFIGURATION',
      `"${name}" is not a tool name. Use at most 64 letters, digits, _ and -.`,
    );
  }
  const whole = toSchema(options.input);
  const input = preset ? presetInput(name, whole, preset, presetPriority) : whole;
  let schema: ToolSchema | undefined;
  return {
    ...(options as Omit<typeof options, 'needsApproval' | 'execute'> &
      Pick<Tool, 'needsApproval' | 'execute'>),
    groups: [group].flat(),
    input,
    get schema() {
      try {
        return (schema ??= { name, description, parameters: input.jsonSchema, strict });
      } catch (cause) {
        throw new AgentError(
          'CONFIGURATION',
          `The tool "${name}" provides no JSON Schema: ${messageOf(cause)}`,
          { cause },
        );
      }
    },
    // A copy with other fields, such as `{ ...tool, returnDirect: true }`, keeps them in its forks.
    fork(changes) {
      const priority = changes.presetPriority ?? presetPriority;
      if (priority === presetPriority && !changes.preset) return this;
      checkFields('CONFIGURATION', 'tool()', changes, 'preset:object|?');
      const changed = { ...this, input: options.input, ...changes };
      return makeTool(changed as unknown as typeof options, priority);
    },
  };
}
