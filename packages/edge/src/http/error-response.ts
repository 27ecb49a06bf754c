import {
  AgentError,
  type AgentErrorCode,
  type AgentErrorData,
  type EventBatch,
} from '@isoloop/core';
import { logText } from '@isoloop/core/error';
import type { RequestVariables } from '../settings/handler-options.ts';

/**
 * HTTP status of each error code, and a message that replaces the original one for clients. The
 * original may quote a key, a query or a path, so it is only in the Worker's log. An error of the
 * model's server has a 5xx status, except for errors that the client can fix.
 */
const publicErrors: Readonly<Record<AgentErrorCode, readonly [status: number, message?: string]>> =
  {
    INVALID_INPUT: [400],
    INVALID_MESSAGE: [400],
    INVALID_DECISION: [400],
    INVALID_STATE: [400, 'The saved conversation cannot be read.'],
    MODEL_CONTEXT_LENGTH: [400, 'The conversation is longer than the model takes.'],
    UNAUTHORIZED: [401],
    NOT_FOUND: [404],
    AGENT_BUSY: [409],
    SESSION_CONFLICT: [409],
    SESSION_DELETED: [409],
    SESSION_MOVED: [409],
    PENDING_TOOL_CALLS: [409],
    PAYLOAD_TOO_LARGE: [413],
    LIMIT_EXCEEDED: [429],
    MODEL_RATE_LIMITED: [429, 'The model gets too many requests; try again later.'],
    GUARD_REJECTED: [422],
    HOOK_REJECTED: [422],
    ABORTED: [499, 'The request was aborted.'],
    CONFIGURATION: [500, 'This endpoint is set up wrongly.'],
    CREDENTIALS_REQUIRED: [500],
    HOOK_ERROR: [500, 'A hook of the agent failed.'],
    TOOL_ERROR: [500, 'A tool of the agent failed.'],
    WORKER_FAILED: [500, 'The agent could not be started, or crashed.'],
    WORKER_TERMINATED: [500, 'The agent is gone.'],
    INTERNAL: [500, 'Something went wrong here.'],
    NEEDS_DURABLE_OBJECT: [501],
    MCP_AUTH: [502, "A tools' server refused this endpoint's key."],
    MCP_BAD_RESPONSE: [502, "A tools' server gave no usable reply."],
    MCP_UNREACHABLE: [502, "A tools' server could not be reached."],
    MODEL_AUTH: [502, "The model's server refused this endpoint's key."],
    MODEL_BAD_RESPONSE: [502, "The model's server gave no usable reply."],
    MODEL_REPLY_TOO_LONG: [502, "The model's reply is too long."],
    MODEL_REQUEST: [502, "The model's server refused the request."],
    MODEL_SERVER: [502, "The model's server failed."],
    MODEL_UNREACHABLE: [502, "The model's server could not be reached."],
    OUTPUT_INVALID: [502, 'The model gave no usable reply.'],
    CIRCUIT_OPEN: [503],
    OVERLOADED: [503],
    STORAGE_FAILED: [503, 'The conversation could not be read or saved.'],
    SESSION_STALE: [503],
    CALL_TIMEOUT: [504],
    ENDPOINT_TIMEOUT: [504],
    MCP_TIMEOUT: [504, "A tools' server did not answer in time."],
    MODEL_TIMEOUT: [504, 'The model did not answer in time.'],
    TOOL_TIMEOUT: [504, 'A tool of the agent did not end in time.'],
    STORAGE_QUOTA: [507],
  };

export interface ErrorResponseOptions extends Pick<RequestVariables, 'requestId' | 'errorFormat'> {
  /** HTTP status. Default: the status of the error's code. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Returns the response for a failed request, with an error message that a client may see. Logs the
 * error like `logError`. `endpoint` adds the headers of every response.
 */
export function errorResponse(thrown: unknown, options: ErrorResponseOptions): Response {
  const { requestId, errorFormat, headers } = options;
  const error = publicErrorOf(thrown, requestId);
  const status = options.status ?? publicErrors[error.code][0];
  const retryAfterMs = error.details?.['retryAfterMs'];
  const responseHeaders = {
    // OpenAI's clients retry after a 409, but a retry of this request would fail again.
    ...(error.code === 'PENDING_TOOL_CALLS' && { 'x-should-retry': 'false' }),
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    ...headers,
    ...(typeof retryAfterMs === 'number' && {
      'retry-after': String(Math.ceil(retryAfterMs / 1000)),
    }),
  };
  const body = errorFormat === 'openai' ? openAiBody(error, status) : isoloopBody(error, requestId);
  return Response.json(body, { status, headers: responseHeaders });
}

/** Error as a client may see it. */
export type PublicError = Pick<AgentErrorData, 'code' | 'message'>;

/** Logs an error like `logError`. Returns the error as a client may see it. */
export function publicErrorOf(thrown: unknown, requestId: string): AgentErrorData {
  logError(thrown, requestId);
  return publicError(AgentError.from(thrown).toJSON());
}

/**
 * Replaces the errors in a batch of events with public errors. An `error` event in a stream must
 * contain only what an error response may contain.
 */
export function withPublicErrors(batch: EventBatch): EventBatch {
  if (!batch.some(({ type }) => type === 'error')) return batch;
  return batch.map((event) =>
    event.type === 'error' ? { ...event, error: publicError(event.error) } : event,
  );
}

/**
 * Writes an error to the Worker's log, except an error that the client caused. Replaces text that
 * looks like a key by `***`.
 */
export function logError(thrown: unknown, requestId: string): void {
  const error = AgentError.from(thrown);
  const [status] = publicErrors[publicError(error.toJSON()).code];
  if (status >= 500 && status !== 501)
    console.error(
      logText(`[${requestId}] ${error.code}: ${error.message}`),
      logText(error.cause ?? error),
    );
}

/**
 * Returns the error as a client may see it. An unknown code becomes `INTERNAL`, because the message
 * of an unknown error may contain secrets.
 */
export function publicError(error: AgentErrorData): AgentErrorData {
  const code = Object.hasOwn(publicErrors, error.code) ? error.code : 'INTERNAL';
  const [, message = error.message] = publicErrors[code];
  return { ...error, code, message };
}

function isoloopBody({ code, message, details }: AgentErrorData, requestId: string): object {
  return { error: { code, message, requestId, movedTo: details?.['movedTo'] } };
}

function openAiBody({ code, message, details }: AgentErrorData, status: number): object {
  return {
    error: {
      message,
      type: openAiType(status),
      code,
      param: (status < 500 && details?.['param']) || null,
    },
  };
}

function openAiType(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'api_error';
}
