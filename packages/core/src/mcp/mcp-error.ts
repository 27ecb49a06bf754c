import { AgentError, messageOf } from '../error/agent-error.ts';

/** The fields of the SDK's errors that are used. */
interface SdkErrorFields {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly data?: { readonly status?: unknown };
  readonly cause?: unknown;
}

/**
 * Converts an error of an MCP server or of its connection to an `AgentError`. `where` is the name
 * of the server.
 *
 * - `MCP_AUTH`: the server refused the credentials (401, 403), or a person has to allow the access.
 * - `MCP_UNREACHABLE`: there is no connection, the connection broke before the answer, or the server
 *   failed (5xx, 408, 429).
 * - `MCP_TIMEOUT`: the server did not answer before the time limit.
 * - `MCP_BAD_RESPONSE`: the server does not use MCP over Streamable HTTP, or it rejects the
 *   request.
 */
export function toMcpError(error: unknown, where: string): AgentError {
  if (AgentError.is(error)) return error;
  const { name, code, cause } = fieldsOf(error);
  if (code === 'ERA_NEGOTIATION_FAILED' && cause) return toMcpError(cause, where);
  const status = statusOf(error);
  const said = messageOf(error)
    .replace(/^(?:MCP error -?\d+: |Error POSTing to endpoint: )+/, '')
    .slice(0, 300);
  const options = {
    cause: error,
    details: { server: where, ...(status !== undefined && { status }) },
  };
  const retryable = { ...options, retryable: true };
  if (isSaid(error) && messageOf(error) !== lostAnswer.message)
    return new AgentError('MCP_BAD_RESPONSE', `The MCP server "${where}" says: ${said}`, options);
  if (status === 401 || status === 403)
    return new AgentError(
      'MCP_AUTH',
      `The MCP server "${where}" refused the credentials (${status}).`,
      options,
    );
  if (name === 'UnauthorizedError')
    return new AgentError(
      'MCP_AUTH',
      `A person has to allow the access to the MCP server "${where}".`,
      options,
    );
  if (name === 'OAuthError' || (typeof name === 'string' && authErrors.test(name)))
    return new AgentError(
      'MCP_AUTH',
      `The authorization for the MCP server "${where}" failed: ${said}`,
      options,
    );
  if (status === 408 || status === 429 || (status !== undefined && status >= 500)) {
    return new AgentError(
      'MCP_UNREACHABLE',
      `The MCP server "${where}" failed (${status}).`,
      retryable,
    );
  }
  if (code === 'REQUEST_TIMEOUT')
    return new AgentError(
      'MCP_TIMEOUT',
      `The MCP server "${where}" did not answer in time.`,
      retryable,
    );
  const isBroken = isSaid(error) || (typeof code === 'string' && brokenCodes.test(code));
  // An error without a code of the SDK came from `fetch`.
  if (isBroken || (!name?.toString().startsWith('Sdk') && !isMisread(error))) {
    return new AgentError(
      'MCP_UNREACHABLE',
      `There is no connection to the MCP server "${where}": ${said}`,
      retryable,
    );
  }
  return new AgentError(
    'MCP_BAD_RESPONSE',
    `"${where}" does not answer as an MCP server over Streamable HTTP: ${said}`,
    options,
  );
}

/** JSON-RPC error of an answer that was lost. The code is the usual one for a closed connection. */
export const lostAnswer = {
  code: -32_000,
  message: 'the connection ended before the answer',
} as const;

/** Errors of the SDK's authorization flow. */
const authErrors =
  /^(?:IssuerMismatch|RegistrationRejected|InsecureTokenEndpoint|AuthorizationServerMismatch|InsufficientScope)Error$/;

/** Codes of the SDK for a connection that ended. */
const brokenCodes = /^(?:NOT_CONNECTED|CONNECTION_CLOSED|SEND_FAILED)$/;

/**
 * Returns whether the server reports an unknown session. In that case, the request did not run.
 * Some servers report 400 instead of the 404 that the specification requires.
 */
export function isSessionUnknown(error: unknown): boolean {
  // An error of the MCP protocol may have any code. The server handled its request, so the session
  // is known.
  const status = isSaid(error) ? undefined : statusOf(error);
  return status === 404 || status === 400;
}

/** Returns whether the server itself reported the error, as an error of the MCP protocol. */
function isSaid(error: unknown): boolean {
  return fieldsOf(error).name === 'ProtocolError';
}

function statusOf(error: unknown): number | undefined {
  const { data, name } = fieldsOf(error);
  const status = name === 'SdkHttpError' ? data?.status : undefined;
  return typeof status === 'number' ? status : undefined;
}

function fieldsOf(error: unknown): SdkErrorFields {
  return Object(error) as SdkErrorFields;
}

/**
 * Returns whether the answer is not JSON, is not a valid message, or has an unknown protocol
 * version.
 */
function isMisread(error: unknown): boolean {
  return (
    error instanceof SyntaxError ||
    Array.isArray(Object(error).issues) ||
    /protocol version/i.test(messageOf(error))
  );
}
