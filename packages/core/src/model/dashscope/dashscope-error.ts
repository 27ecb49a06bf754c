import { AgentError, type AgentErrorCode } from '../../error/agent-error.ts';

/**
 * Codes for DashScope's error codes, by their first characters. Any other DashScope code means a
 * rejected request.
 */
const meanings: readonly (readonly [pattern: RegExp, code: AgentErrorCode, retryable: boolean])[] =
  [
    [/^(throttling|limit_requests)/i, 'MODEL_RATE_LIMITED', true],
    [/^(invalid_?api_?key|(\w+\.)?accessdenied)/i, 'MODEL_AUTH', false],
    [/^(requesttimeout|responsetimeout)/i, 'MODEL_TIMEOUT', true],
    [
      /^(internalerror|systemerror|serviceunavailable|modelunavailable|modelservingerror|badgateway|internal_)/i,
      'MODEL_SERVER',
      true,
    ],
  ];

/**
 * Returns the error of a chunk with the code that DashScope's own code means. Its HTTP status is only
 * in a comment of the event stream, which the parser does not return. Other errors stay unchanged.
 */
export function withOwnCode(error: AgentError): AgentError {
  const providerCode = error.details?.['providerCode'];
  if (error.code !== 'MODEL_SERVER' || typeof providerCode !== 'string') return error;
  const known = meanings.find(([pattern]) => pattern.test(providerCode));
  const [, code, retryable] = known ?? [null, 'MODEL_REQUEST' as const, false];
  return new AgentError(code, error.message, { retryable, details: error.details });
}
