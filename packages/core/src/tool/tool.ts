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
  /** Raised when the call is aborted or its time is up; hand it on to `fetch`. */
  readonly signal: AbortSignal;
  /** The agent's. */
  readonly sessionId: string;
  readonly userId?: string | undefined;
  /** Of the call of the agent. */
  readonly runId: string;
  readonly toolUseId: string;
  /** The conversation as the model saw it. */
  readonly messages: readonly Msg[];
  /** The same for every attempt at the same call. */
  readonly idempotencyKey: string;
  /**
   * Progress for hooks and readers, copied; the model never sees it (AgentScope: `ToolEmitter`).
   * Throws for what can't be cloned.
   */
  emit(progress: JsonValue): void;
  /** The names of the agents from the outermost to the one whose call this is. */
  readonly agentPath: readonly string[];
  /** Puts another agent's events among this run's, for its readers; hooks don't see them. */
  forward(events: readonly AgentEvent[]): void;
  /**
   * What was provided for a token by the call, else the agent, else the toolkit. Throws
   * `CONFIGURATION` where nothing was.
   */
  get<T>(token: ContextToken<T>): T;
  /**
   * Ends the call of this tool without a result: the run finishes the other calls and ends as
   * `suspended`, until somebody decides (AgentScope: `ToolSuspendException`). Never returns.
   */
  suspend(reason: string): never;
  /**
   * Asks the agent's call to stop, to pause or to take messages in, as `agent.interrupt()` does,
   * once its tools have ended. False, and nothing done, when it is about to end.
   */
  interrupt(request?: string | Msg | InterruptRequest): boolean;
  /**
   * What was decided about this call, where it runs again after `suspend` and the tool
   * `takesDecisions`.
   */
  readonly decision?: Decision | undefined;
}

/**
 * Text goes to the model as it is; anything else as its JSON text (`undefined` as an empty text).
 */
export type ToolOutput = JsonValue | undefined | object;

export interface ToolOptions<S extends SchemaLike> {
  /** Letters, digits, `_` and `-`, at most 64: what every provider takes. */
  readonly name: string;
  readonly description: string;
  /**
   * Zod, any Standard Schema with JSON Schema, or plain JSON Schema (an object schema: goes to the
   * model, is checked only by `jsonSchema()`).
   */
  readonly input: S;
  /** Milliseconds one call may take; default 5 minutes (AgentScope: tool execution defaults). */
  readonly timeoutMs?: number;
  /** Asks the provider to keep to the schema, where it can. */
  readonly strict?: boolean;
  /**
   * Parameters that the model neither sees nor sets, with their values (AgentScope: preset
   * parameters): names of the schema's own properties. They are put in before the arguments are
   * validated.
   */
  readonly preset?: JsonObject;
  /** The toolkit's groups this tool belongs to; in none: always active. Needs a `Toolkit`. */
  readonly group?: string | readonly string[];
  /**
   * Whether somebody has to approve a call before it runs; the call suspends until then. Default
   * false.
   */
  readonly needsApproval?:
    | boolean
    | ((input: InferOutput<S>, call: ToolUse) => boolean | Promise<boolean>);
  /**
   * What becomes of a call that had started and whose result was lost: run again (`safe`), ask
   * somebody, or (default `never`) tell the model that it was interrupted.
   */
  readonly replay?: ReplayPolicy;
  /**
   * Its result is the answer (Spring AI Alibaba: `returnDirect`): where all calls of a round say so
   * and end well, the run ends with reason `return-direct` instead of asking the model. Default
   * false.
   */
  readonly returnDirect?: boolean;
  /**
   * The server that the tool is of, where it is none of your own: `selectTools` chooses among such
   * tools. `mcpTools` says it.
   */
  readonly server?: string;
  /**
   * Without it the tool is external: each call suspends, and its result is given with the next call
   * of the agent.
   */
  readonly execute?: (
    input: InferOutput<S>,
    context: ToolContext,
  ) => ToolOutput | Promise<ToolOutput>;
}

export type ReplayPolicy = 'safe' | 'ask' | 'never';

/** A tool as a toolkit holds it; made by `tool()`. */
export interface Tool {
  readonly name: string;
  /** Absent: 5 minutes. */
  readonly timeoutMs?: number;
  readonly input: Schema<unknown>;
  /** What the model is told. */
  readonly schema: ToolSchema;
  readonly groups?: readonly string[];
  readonly preset?: JsonObject;
  readonly needsApproval?:
    | boolean
    | ((input: unknown, call: ToolUse) => boolean | Promise<boolean>);
  readonly replay?: ReplayPolicy;
  readonly returnDirect?: boolean;
  /** The server it is of; absent: it is the program's own. */
  readonly server?: string;
  /**
   * A decision about a suspended call runs the tool again and is in its context, also a `result` or
   * `reject`, instead of ending the call.
   */
  readonly takesDecisions?: boolean;
  /**
   * The tool as `set` is to hold it: with another preset, or with state of its own. A set asks for
   * it for each tool it is given, so that no two sets share a tool's state. Absent: the tool has
   * none.
   */
  fork?(changes: ToolChanges, set: ToolSet): Tool;
  readonly execute?: (input: unknown, context: ToolContext) => ToolOutput | Promise<ToolOutput>;
}

export interface ToolChanges extends ForkOptions {
  /** Instead of the one the tool has. */
  readonly preset?: JsonObject;
}

/** Media and text that a tool returns as they are, instead of as JSON. */
export interface ToolContent {
  readonly content: readonly ContentBlock[];
}

/**
 * Declares a tool. `execute` gets input that passed the schema. What it throws becomes an error
 * result that the model sees. Throws `CONFIGURATION` for a name that providers would refuse, and
 * for a preset that is no parameter of the tool. The second parameter is for forks.
 */
export function tool<const S extends SchemaLike>(
  options: ToolOptions<S>,
  { presetPriority = 'preset' }: ForkOptions = {},
): Tool {
  checkOptions('CONFIGURATION', 'tool()', options, toolFields);
  return makeTool(options, presetPriority);
}

const toolFields =
  'name:string description:string input:object|function timeoutMs:count|? strict:boolean|? ' +
  'preset:object|? group:string|array|? needsApproval:boolean|function|? replay:safe|ask|never|? ' +
  'returnDirect:boolean|? server:string|? execute:function|? ' +
  // The fields of a tool, so that a copy may be declared again: tool({ ...other, description }).
  'groups:array|? schema:object|? fork:function|? takesDecisions:boolean|?';

function makeTool<const S extends SchemaLike>(
  options: ToolOptions<S>,
  presetPriority: 'preset' | 'model',
): Tool {
  const { name, description, strict, preset, group = [] } = options;
  if (!/^[\w-]{1,64}$/.test(name)) {
    throw new AgentError(
      'CONFIGURATION',
      `"${name}" is no tool name: at most 64 letters, digits, _ and -.`,
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
          `The tool "${name}" gives no JSON Schema: ${messageOf(cause)}`,
          { cause },
        );
      }
    },
    // A copy with other fields, as `{ ...tool, returnDirect: true }`, keeps them.
    fork(changes) {
      const priority = changes.presetPriority ?? presetPriority;
      if (priority === presetPriority && !changes.preset) return this;
      checkFields('CONFIGURATION', 'tool()', changes, 'preset:object|?');
      const changed = { ...this, input: options.input, ...changes };
      return makeTool(changed as unknown as typeof options, priority);
    },
  };
}
