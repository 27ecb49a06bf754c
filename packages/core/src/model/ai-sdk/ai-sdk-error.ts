import { AgentError, errorText, type AgentErrorCode } from '../../error/agent-error.ts';
import { classifyError } from '../../error/classify-error.ts';
import { errorOfChunk, errorOfResponse, quote } from '../http/provider-error.ts';

/**
 * AI SDK's `APICallError`. It is recognized by its name, because its class cannot be imported here
 * and several copies of the class may exist.
 */
interface ApiCallError extends Error {
  readonly statusCode?: number;
  readonly responseHeaders?: Readonly<Record<string, string>>;
  readonly responseBody?: string;
  readonly isRetryable?: boolean;
}

const codes: Readonly<Record<string, AgentErrorCode>> = {
  AI_LoadAPIKeyError: 'MODEL_AUTH',
  AI_LoadSettingError: 'CONFIGURATION',
  AI_NoSuchModelError: 'MODEL_REQUEST',
  AI_InvalidPromptError: 'MODEL_REQUEST',
  AI_InvalidArgumentError: 'MODEL_REQUEST',
  AI_UnsupportedFunctionalityError: 'MODEL_REQUEST',
};

/** Converts any error of an AI SDK model, which it throws or reports in its stream. */
export function toAgentError(error: unknown): AgentError {
  if (AgentError.is(error)) return error;
  if (!(error instanceof Error))
    return errorOfChunk({ error: error ?? 'unknown' }) ?? AgentError.from(error);
  if (error.name === 'AI_APICallError') return apiCallError(error);
  const isAiSdk = error.name.startsWith('AI_');
  const code = codes[error.name] ?? (isAiSdk ? 'MODEL_BAD_RESPONSE' : undefined);
  if (code) return new AgentError(code, quote(errorText(error)), { cause: error });
  return providerException(error);
}

/** Returns the error for a reply that is incomplete or contradicts itself. */
export function badReply(message: string): AgentError {
  return new AgentError('MODEL_BAD_RESPONSE', message, { retryable: true });
}

/** Returns the error for an exception of a provider's own code, such as of AI Gateway. */
function providerException(error: Error): AgentError {
  const { code, transient, retryAfterMs } = classifyError(error);
  const isUnknown = code === 'INTERNAL' || code === 'ABORTED';
  return new AgentError(isUnknown ? 'MODEL_UNREACHABLE' : code, quote(errorText(error)), {
    cause: error,
    retryable: isUnknown || transient,
    details: retryAfterMs === undefined ? undefined : { retryAfterMs },
  });
}

function apiCallError(error: ApiCallError): AgentError {
  const { message, statusCode, responseHeaders, responseBody, isRetryable } = error;
  if (statusCode === undefined)
    return new AgentError('MODEL_UNREACHABLE', quote(message), {
      cause: error,
      retryable: isRetryable ?? true,
    });
  if (statusCode >= 400)
    return errorOfResponse(statusCode, new Headers(responseHeaders), responseBody || message);
  // The status is a success, but the body could not be read: the connection broke, or the body is
  // not a reply.
  return error.cause instanceof Error
    ? toAgentError(error.cause)
    : new AgentError('MODEL_BAD_RESPONSE', quote(message), { cause: error });
}
