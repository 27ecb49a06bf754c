import type { JsonObject } from '../message/json.ts';

/**
 * What went wrong, stable across versions and runtimes.
 *
 * - `AGENT_BUSY`: a call came while another one runs on the same agent; or its state was to be
 *   saved or loaded then.
 * - `PENDING_TOOL_CALLS`: new input while tool calls have no result; `ids` in `details`.
 * - `INVALID_DECISION`: a decision about a tool call that is not open, two about one, or one beside
 *   other input.
 * - `INVALID_STATE`: a saved state that is damaged or of an unknown version.
 * - `INVALID_INPUT`: an argument, option or request body is malformed.
 * - `INVALID_MESSAGE`: a stored or foreign message does not have the shape of `Msg`.
 * - `MODEL_AUTH`: the model's server refused the key (401, 403).
 * - `MODEL_RATE_LIMITED`: 429 from the model's server; `retryAfterMs` in `details` where it said
 *   so.
 * - `MODEL_REQUEST`: the server refused the request for another reason (4xx).
 * - `MODEL_CONTEXT_LENGTH`: the request is longer than the model's window.
 * - `MODEL_SERVER`: the server failed (5xx), or sent an error in mid-stream.
 * - `MODEL_UNREACHABLE`: no connection, or it broke before the answer's end.
 * - `MODEL_BAD_RESPONSE`: what came back is not the protocol: no event stream, no JSON, cut off.
 * - `OUTPUT_INVALID`: the model gave no value that fits the call's `output`; `issues` and its raw
 *   `text` in `details`.
 * - `MODEL_TIMEOUT`, `TOOL_TIMEOUT`: no answer within the limit. `CALL_TIMEOUT`: the whole call
 *   took longer than `limits.timeoutMs`.
 * - `CIRCUIT_OPEN`: the model failed too often and is not asked for a while; `retryAfterMs` in
 *   `details`.
 * - `LIMIT_EXCEEDED`: more model or tool calls than `modelCallLimit()` or `toolCallLimit()` lets
 *   pass.
 * - `OVERLOADED`: more calls wait for a `Semaphore` than may.
 * - `GUARD_REJECTED`: a guard let the input or the answer not pass; `category` and `stage` in
 *   `details`.
 * - `TOOL_ERROR`: a tool failed in a way that ends the call.
 * - `MCP_AUTH`: an MCP server refused the credentials (401, 403), or they could not be had.
 * - `MCP_UNREACHABLE`: no connection to an MCP server, or it broke before the answer; or the server
 *   failed (5xx, 429).
 * - `MCP_TIMEOUT`: an MCP server did not answer in time.
 * - `MCP_BAD_RESPONSE`: what answers is no MCP server over Streamable HTTP, or says no to the
 *   request.
 * - `HOOK_REJECTED`: a hook refused the call at `run-start` or `pre-call`.
 * - `HOOK_ERROR`: a hook threw and had not declared `onError: 'ignore'`; or a hook or context
 *   policy left what is no valid request.
 * - `ABORTED`: the caller's signal was raised.
 * - `STORAGE_QUOTA`: the store is full. `STORAGE_FAILED`: any other failure of the store.
 * - `SESSION_STALE`: the store still shows an older state of the session than its client has seen;
 *   `retryAfterMs` in `details`.
 * - `SESSION_CONFLICT`: two clients went on from the same state of a session, and both branches can
 *   be read; or another writer has taken the session over, and what this one still writes is
 *   refused.
 * - `CREDENTIALS_REQUIRED`: there is no key to go on with; for factories to throw.
 * - `WORKER_TERMINATED`: the worker is gone. `WORKER_FAILED`: its script could not be loaded or
 *   crashed.
 * - `UNAUTHORIZED`, `NOT_FOUND`, `PAYLOAD_TOO_LARGE`: the edge endpoint's refusals; the last one
 *   also an attachment that is too large.
 * - `NEEDS_DURABLE_OBJECT`: the edge endpoint can do this only where sessions are Durable Objects.
 * - `CONFIGURATION`: the library is put together wrongly: an option of the wrong kind, two tools of
 *   one name, no value for a token, a key that cannot be sent.
 * - `INTERNAL`: anything else; a defect, or an error of a part we do not know.
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
  | 'CREDENTIALS_REQUIRED'
  | 'WORKER_TERMINATED'
  | 'WORKER_FAILED'
  | 'UNAUTHORIZED'
  | 'NOT_FOUND'
  | 'PAYLOAD_TOO_LARGE'
  | 'NEEDS_DURABLE_OBJECT'
  | 'CONFIGURATION'
  | 'INTERNAL';

/**
 * An error as plain JSON: what crosses a worker boundary or a wire. Never holds a stack or a cause.
 */
export interface AgentErrorData {
  readonly name: 'AgentError';
  readonly code: AgentErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly details?: JsonObject | undefined;
}

export interface AgentErrorOptions {
  readonly cause?: unknown;
  /** Whether the same call may succeed later. Default false. */
  readonly retryable?: boolean;
  /** Fields for programs: an HTTP status, a tool's name. Never a secret. */
  readonly details?: JsonObject | undefined;
}

/**
 * The one error class. Tell it by `AgentError.is`, which holds across realms and copies of the
 * library, and by `code`.
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
    const { name, code } = Object(value) as Partial<AgentError>;
    return name === 'AgentError' && typeof code === 'string';
  }

  /**
   * Any thrown value as an `AgentError`; one that is none becomes `code`, with the value as its
   * cause.
   */
  static from(value: unknown, code: AgentErrorCode = 'INTERNAL'): AgentError {
    // What went through JSON is an error's data, and no error any more.
    if (AgentError.is(value))
      return (value as Partial<AgentError>).toJSON ? value : AgentError.fromJSON(value);
    return new AgentError(code, messageOf(value), { cause: value });
  }

  /** The error that `toJSON` gave, on the other side of a boundary. */
  static fromJSON(data: AgentErrorData): AgentError {
    return new AgentError(data.code, data.message, data);
  }

  toJSON(): AgentErrorData {
    const { name, code, message, retryable, details } = this;
    return { name, code, message, retryable, details };
  }
}

/** The message of anything that can be thrown. */
export function messageOf(value: unknown): string {
  return value instanceof Error ? value.message || value.name : String(value);
}
