import { AgentError } from '@isoloop/core';

export interface ReadableError {
  readonly title: string;
  /** What the user can do. */
  readonly fix: string | undefined;
  readonly detail: string;
  readonly code: string;
}

const titles: Readonly<Record<string, string>> = {
  MODEL_AUTH: 'The endpoint refused the key.',
  MODEL_RATE_LIMITED: 'The endpoint is busy.',
  MODEL_REQUEST: 'The endpoint refused the request.',
  MODEL_CONTEXT_LENGTH: 'The conversation is too long for this model.',
  MODEL_SERVER: 'The endpoint failed.',
  MODEL_UNREACHABLE: 'The endpoint can’t be reached.',
  MODEL_BAD_RESPONSE: 'The endpoint’s response is not a chat completion.',
  MODEL_REPLY_TOO_LONG: 'The answer became too long.',
  MODEL_TIMEOUT: 'The endpoint did not answer in time.',
  STORAGE_QUOTA: 'This browser’s storage is full.',
  STORAGE_FAILED: 'The conversation could not be stored.',
  AGENT_BUSY: 'The agent is still answering.',
  WORKER_FAILED: 'The worker could not be started.',
  WORKER_TERMINATED: 'The worker has ended.',
  PAYLOAD_TOO_LARGE: 'That message is too long.',
  NOT_FOUND: 'The edge does not offer this.',
  CONFIGURATION: 'The edge is not configured for this.',
  UNAUTHORIZED: 'You are not allowed to use this endpoint.',
  OFFLINE: 'The edge can’t be reached.',
};

const fixes: Readonly<Record<string, string>> = {
  MODEL_AUTH: 'Check the key.',
  MODEL_RATE_LIMITED: 'Wait a moment, then try again.',
  MODEL_REQUEST: 'Check the name of the model and the base URL.',
  MODEL_CONTEXT_LENGTH: 'Begin a new conversation.',
  MODEL_SERVER: 'Try again later, or choose another model.',
  MODEL_UNREACHABLE: 'Start the server, and let it allow requests from this page (CORS).',
  MODEL_BAD_RESPONSE: 'Check the base URL; most end with /v1.',
  STORAGE_QUOTA: 'Delete old conversations.',
  OFFLINE: 'Start the edge with npm start.',
};

/** Codes of a connection that failed before a model was asked, so trying again costs nothing. */
const connectionCodes: ReadonlySet<string> = new Set(['OFFLINE', 'WORKER_FAILED']);
export const offlineFix = 'This device is offline. The page tries again when it is online.';

/**
 * Returns the text that users see for a failure of the worker, of the stream, or of a refused
 * request.
 */
export function readableError(error: unknown): ReadableError {
  const { code, message } = codeAndMessage(error);
  return {
    title: titles[code] ?? 'Something went wrong.',
    fix: connectionCodes.has(code) && !navigator.onLine ? offlineFix : fixes[code],
    detail: message,
    code,
  };
}

/** Whether an error may be gone as soon as this device is online. */
export function isConnectionError(error: unknown): boolean {
  return error !== undefined && connectionCodes.has(codeAndMessage(error).code);
}

function codeAndMessage(error: unknown): { readonly code: string; readonly message: string } {
  if (AgentError.is(error)) return error;
  const text = error instanceof Error ? error.message : String(error);
  const fromBody = parseBody(text);
  if (fromBody) return fromBody;
  const { code, message } = splitErrorText(text);
  if (code) return { code, message };
  // `fetch` throws a TypeError when there is no connection. Its message depends on the browser.
  return { code: error instanceof TypeError ? 'OFFLINE' : 'INTERNAL', message };
}

/** The code at the end of an error of a stream: `… [MODEL_AUTH]`. */
const codeAtEnd = / \[([A-Z_]+)\]$/;

/** Splits the text of a stream's error into its message and its code, which may be absent. */
function splitErrorText(text: string): { readonly message: string; readonly code?: string } {
  const code = codeAtEnd.exec(text)?.[1];
  return code === undefined ? { message: text } : { message: text.replace(codeAtEnd, ''), code };
}

function parseBody(text: string): { readonly code: string; readonly message: string } | undefined {
  try {
    const { error } = JSON.parse(text) as {
      readonly error?: { readonly code?: unknown; readonly message?: unknown };
    };
    return error ? { code: String(error.code), message: String(error.message) } : undefined;
  } catch {
    return undefined;
  }
}
