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
 * Converts an error inside a reply by DashScope's error code. The HTTP status of such an error is
 * only in a comment of the event stream, which the parser does not return. Other errors stay
 * unchanged.
 */
export function dashScopeError(error: unknown): unknown {
  if (
    !AgentError.is(error) ||
    error.code !== 'MODEL_SERVER' ||
    error.details?.['status'] !== undefined
  )
    return error;
  const providerCode = error.details?.['providerCode'];
  if (typeof providerCode !== 'string') return error;
  const [, code, retryable] = meanings.find(([pattern]) => pattern.test(providerCode)) ?? [
    null,
    'MODEL_REQUEST' as const,
    false,
  ];
  return new AgentError(code, error.message, { cause: error, retryable, details: error.details });
}
