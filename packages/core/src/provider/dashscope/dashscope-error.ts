import { AgentError, type AgentErrorCode } from '../../error/agent-error.ts';

/** What DashScope's error codes mean, by how they begin; any other is a request it refuses. */
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
 * An error that came within a reply, told by its code: the HTTP status it stands for is in a
 * comment of the stream, which no parser of server-sent events gives out. Any other error stays
 * what it is.
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
