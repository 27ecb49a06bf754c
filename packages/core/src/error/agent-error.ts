import type { JsonObject } from '../message/json.ts';

/**
 * Error code, stable across versions and runtimes.
 *
 * - `AGENT_BUSY`: the agent was called, saved or loaded while another call was running on it.
 * - `PENDING_TOOL_CALLS`: new input came while tool calls have no result; `details` contains their
 *   `ids`.
 * - `INVALID_DECISION`: a decision about a tool call that is not open, two decisions about one
 *   call, or a decision together with other input. Also: edited arguments do not fit the tool's
 *   schema. The tool calls still wait.
 * - `INVALID_STATE`: a saved state is damaged or has an unknown version.
 * - `INVALID_INPUT`: an argument, option or request body is malformed.
 * - `INVALID_MESSAGE`: a stored or foreign message does not have the shape of `Msg`.
 * - `MODEL_AUTH`: the model's server refused the key (401, 402, 403), or the key is missing.
 * - `MODEL_RATE_LIMITED`: a rate limit or a quota of the model's server is used up; `details`
 *   contains `retryAfterMs` if the server said how long to wait. Not `retryable` if waiting does
 *   not help.
 * - `MODEL_REQUEST`: the model's server refused the request for another reason (4xx), or cannot
 *   take it.
 * - `MODEL_CONTEXT_LENGTH`: the request is longer than the model's context window, or larger than
 *   the server takes (413).
 * - `MODEL_SERVER`: the model's server failed (5xx, 409, 424, 498, 499), or sent an error in the
 *   middle of a stream.
 * - `MODEL_UNREACHABLE`: there was no connection to the model's server, or it broke before the end
 *   of the reply.
 * - `MODEL_BAD_RESPONSE`: the response does not follow the protocol. Examples: it is not an event
 *   stream, it is not JSON, or it is incomplete. Also a model of your own that yields anything but
 *   arrays of deltas.
 * - `MODEL_REPLY_TOO_LONG`: the reply is longer than `limits.replyLength`. The rest was not read.
 * - `OUTPUT_INVALID`: the model gave no value that fits the call's `output`; `details` contains
 *   `issues` and the model's raw `text`.
 * - `MODEL_TIMEOUT`, `TOOL_TIMEOUT`: no answer within the time limit. `CALL_TIMEOUT`: the whole
 *   agent call took longer than `limits.timeoutMs`.
 * - `CIRCUIT_OPEN`: the model failed too often, so it gets no requests for a while; `details`
 *   contains `retryAfterMs`.
 * - `LIMIT_EXCEEDED`: more model or tool calls than `modelRequestLimit()` or `toolCallLimit()`
 *   allows.
 * - `OVERLOADED`: too many calls or requests are waiting, for example for a `Semaphore`.
 * - `GUARD_REJECTED`: a guard rejected the input or the answer; `details` contains `category` and
 *   `stage`.
 * - `TOOL_ERROR`: a tool failed in a way that ends the agent call.
 * - `MCP_AUTH`: an MCP server refused the credentials (401, 403), or the program could not get
 *   them.
 * - `MCP_UNREACHABLE`: there was no connection to an MCP server, or it broke before the answer.
 *   Also: the server failed (5xx, 429).
 * - `MCP_TIMEOUT`: an MCP server did not answer in time.
 * - `MCP_BAD_RESPONSE`: the other side is not an MCP server over Streamable HTTP, or it refused the
 *   request.
 * - `HOOK_REJECTED`: a hook refused the agent call at `run-start` or `pre-call`.
 * - `HOOK_ERROR`: a hook without `onError: 'ignore'` threw. Also: a hook or context policy returned
 *   an invalid event or request.
 * - `ABORTED`: the caller's signal was aborted.
 * - `STORAGE_QUOTA`: the store is full. `STORAGE_FAILED`: any other failure of the store.
 * - `SESSION_STALE`: the store still shows an older state of the session than the client has seen;
 *   `details` contains `retryAfterMs`.
 * - `SESSION_CONFLICT`: two clients continued from the same state of a session; both branches stay
 *   readable. Also: another writer took over the session, so writes of this writer are refused.
 * - `SESSION_MOVED`: the session belongs to another place; `details.movedTo` is its name.
 * - `SESSION_DELETED`: the session was deleted during a run, by a person, the browser or the store.
 *   The run ends, and its further writes are refused. A new message begins a new session.
 * - `CREDENTIALS_REQUIRED`: a key is missing. Only functions of the program throw this code, such
 *   as a function that creates an agent.
 * - `WORKER_TERMINATED`: the worker was ended. `WORKER_FAILED`: the script of the worker crashed or
 *   could not be loaded.
 * - `ENDPOINT_TIMEOUT`: an edge endpoint did not answer a page in time, or its stream fell silent.
 * - `UNAUTHORIZED`, `NOT_FOUND`, `PAYLOAD_TOO_LARGE`: the edge endpoint refused the request.
 *   `UNAUTHORIZED` also: the function that gives the headers of a request failed.
 *   `PAYLOAD_TOO_LARGE` is also the code for an attachment that is too large.
 * - `NEEDS_DURABLE_OBJECT`: the edge endpoint supports this request only if sessions are Durable
 *   Objects.
 * - `CONFIGURATION`: the program uses the library wrongly. Examples: an option of the wrong kind,
 *   two tools with one name, no value for a `ContextToken`, an API key with invalid characters.
 * - `INTERNAL`: any other error, such as a defect or an unknown error of other code.
 */
export type AgentErrorCode =
  | 'AGENT_BUSY'
  | 'PENDING_TOOL_CALLS'
  | 'INVALID_DECISION'
  | 'INVALID_STATE'
  | 'INVALID_INPUT'
  | 'INVALID_MESSAGE'
  | 'MODEL_AUTH'
  | 'MODEL_RATE_LIMITED'
  | 'MODEL_REQUEST'
  | 'MODEL_CONTEXT_LENGTH'
  | 'MODEL_SERVER'
  | 'MODEL_UNREACHABLE'
  | 'MODEL_BAD_RESPONSE'
  | 'MODEL_REPLY_TOO_LONG'
  | 'OUTPUT_INVALID'
  | 'MODEL_TIMEOUT'
  | 'TOOL_TIMEOUT'
  | 'CALL_TIMEOUT'
  | 'CIRCUIT_OPEN'
  | 'LIMIT_EXCEEDED'
  | 'OVERLOADED'
  | 'GUARD_REJECTED'
  | 'TOOL_ERROR'
  | 'MCP_AUTH'
  | 'MCP_UNREACHABLE'
  | 'MCP_TIMEOUT'
  | 'MCP_BAD_RESPONSE'
  | 'HOOK_ERROR'
  | 'HOOK_REJECTED'
  | 'ABORTED'
  | 'STORAGE_QUOTA'
  | 'STORAGE_FAILED'
  | 'SESSION_STALE'
  | 'SESSION_CONFLICT'
  | 'SESSION_MOVED'
  | 'SESSION_DELETED'
  | 'CREDENTIALS_REQUIRED'
  | 'WORKER_TERMINATED'
  | 'WORKER_FAILED'
  | 'ENDPOINT_TIMEOUT'
  | 'UNAUTHORIZED'
  | 'NOT_FOUND'
  | 'PAYLOAD_TOO_LARGE'
  | 'NEEDS_DURABLE_OBJECT'
  | 'CONFIGURATION'
  | 'INTERNAL';

/**
 * Error as plain JSON, to cross a worker boundary or a network. It contains no stack and no cause.
 */
export interface AgentErrorData {
  readonly name: 'AgentError';
  readonly code: AgentErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly details?: JsonObject | undefined;
}

/** Facts about an `AgentError` beside its code and message. */
export interface AgentErrorOptions {
  readonly cause?: unknown;
  /** Whether the same operation may succeed later. Default: false. */
  readonly retryable?: boolean;
  /** Data for programs, such as an HTTP status or the name of a tool. Must not contain a secret. */
  readonly details?: JsonObject | undefined;
}

/**
 * The library's only error class. Recognize an error with `AgentError.is`, which also works across
 * realms and copies of the library. Then check its `code`.
 */
export class AgentError extends Error {
  override readonly name = 'AgentError' as const;
  readonly code: AgentErrorCode;
  readonly retryable: boolean;
  readonly details: JsonObject | undefined;

  constructor(code: AgentErrorCode, message: string, options: AgentErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.details = options.details;
  }

  static is(value: unknown): value is AgentError {
    return fieldOf(value, 'name') === 'AgentError' && typeof fieldOf(value, 'code') === 'string';
  }

  /**
   * Returns an `AgentError` for any thrown value. If the value is not an `AgentError`, it becomes
   * the cause of a new error with `code`.
   */
  static from(value: unknown, code: AgentErrorCode = 'INTERNAL'): AgentError {
    // After a conversion to JSON, the value is only the data of an error, without methods.
    if (AgentError.is(value))
      return (value as Partial<AgentError>).toJSON ? value : AgentError.fromJSON(value);
    return new AgentError(code, errorText(value), { cause: value });
  }

  /** Restores the error from the result of `toJSON`, on the other side of a boundary. */
  static fromJSON(data: AgentErrorData): AgentError {
    return new AgentError(data.code, data.message, data);
  }

  toJSON(): AgentErrorData {
    const { name, code, message, retryable, details } = this;
    return { name, code, message, retryable, details };
  }
}

/** Returns whether a value is an error. Works across realms. */
export function isError(value: unknown): value is Error {
  return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';
}

/**
 * Returns an `AgentError` for a value that code of others threw. If the value is not an
 * `AgentError`, the message begins with the name of the code.
 */
export function namedFailure(who: string, thrown: unknown): AgentError {
  if (AgentError.is(thrown)) return AgentError.from(thrown);
  return new AgentError('INTERNAL', `${who} failed: ${errorText(thrown)}`, { cause: thrown });
}

/**
 * Returns an error as plain data. An `AgentError` has the fields of its data, so the types allow it
 * in its place. A copy for another thread would lose its code.
 */
export function errorData<T extends Omit<AgentErrorData, 'name'>>(error: T): T | AgentErrorData {
  return isError(error) ? AgentError.from(error).toJSON() : error;
}

/** Returns an object with the fields of any value, also of `null` or `undefined`. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return Object(value) as Readonly<Record<string, unknown>>;
}

/** Returns a field of any value. Returns `undefined` if the field cannot be read. */
export function fieldOf(value: unknown, name: string): unknown {
  try {
    return (Object(value) as Record<string, unknown>)[name];
  } catch {
    return undefined;
  }
}

/** Returns the message of any thrown value, even if its fields cannot be read. */
export function errorText(value: unknown): string {
  try {
    // For an error without a message, returns its name.
    return String((Object(value) as Partial<Error>).message || value);
  } catch {
    return 'Unreadable error';
  }
}

/** Returns the error for something that the developer has to correct: code `CONFIGURATION`. */
export function misconfigured(message: string, options?: AgentErrorOptions): AgentError {
  return new AgentError('CONFIGURATION', message, options);
}

/**
 * Returns the error for a value that a caller gave and that cannot be used: code `INVALID_INPUT`.
 */
export function invalidInput(message: string, options?: AgentErrorOptions): AgentError {
  return new AgentError('INVALID_INPUT', message, options);
}

/**
 * Returns the error for something that needs a middleware which the agent does not have. `what`:
 * what needs it, as the start of a sentence. The message ends with the lines to add.
 */
export function missingMiddleware(name: string, what: string): AgentError {
  const entry = homes[name];
  const add = entry
    ? `import { ${name} } from '@isoloop/core/${entry}'; use: [${name}()].`
    : `use: [${name}()].`;
  const message = `${what} needs the middleware "${name}". Add it: ${add}`;
  return misconfigured(message, { details: { middleware: name } });
}

/** The entries of the middleware that options, tools and decisions of an agent need. */
const homes: Readonly<Record<string, string>> = {
  approvals: 'approval',
  directAnswers: 'answer',
  answerAtLimit: 'answer',
  runLimits: 'limits',
  steering: 'steering',
};
