/** An error in OpenAI's format: the body of a response, or an event in a stream. */
export interface OpenAiError {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly code: string;
    readonly param: null;
  };
}

/** Returns an error in OpenAI's format. */
export function toOpenAiError(error: {
  readonly code: string;
  readonly message: string;
}): OpenAiError {
  const { code, message } = error;
  return { error: { message, type: typeOf(code), code, param: null } };
}

function typeOf(code: string): string {
  if (/^(MODEL_RATE_LIMITED|LIMIT_EXCEEDED)$/.test(code)) return 'rate_limit_error';
  const clientErrors =
    /^(INVALID_(INPUT|MESSAGE|DECISION)|MODEL_CONTEXT_LENGTH|PENDING_TOOL_CALLS|(GUARD|HOOK)_REJECTED|NOT_FOUND|SESSION_CONFLICT)$/;
  return clientErrors.test(code) ? 'invalid_request_error' : 'api_error';
}
