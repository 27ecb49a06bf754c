import { AgentError, errorText, type AgentErrorCode } from '../error/agent-error.ts';
import { omitUndefined } from '../message/json.ts';

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
 * - `MCP_UNREACHABLE`: there is no connection, the connection broke before the answer, or the
 *   server failed (5xx, 408, 429).
 * - `MCP_TIMEOUT`: the server did not answer before the time limit.
 * - `MCP_BAD_RESPONSE`: the server does not use MCP over Streamable HTTP, or it rejects the
 *   request.
 */
export function toMcpError(error: unknown, where: string): AgentError {
  if (AgentError.is(error)) return error;
  const { name, code, cause } = fieldsOf(error);
  if (code === 'ERA_NEGOTIATION_FAILED' && cause) return toMcpError(cause, where);
  const status = statusOf(error);
  const text = errorText(error)
    .replace(/^(?:MCP error -?\d+: |Error POSTing to endpoint: )+/, '')
    .slice(0, 300);
  const createError = (of: AgentErrorCode, message: string, retryable = false): AgentError => {
    const details = omitUndefined({ server: where, status });
    return new AgentError(of, message, { retryable, cause: error, details });
  };
  const server = `The MCP server "${where}"`;
  if (isSaid(error) && errorText(error) !== lostAnswer.message)
    return createError('MCP_BAD_RESPONSE', `${server} says: ${text}`);
  if (/^40[13]$/.test(`${status}`))
    return createError('MCP_AUTH', `${server} refused the credentials (${status}).`);
  if (name === 'UnauthorizedError')
    return createError(
      'MCP_AUTH',
      `A person has to allow the access to the MCP server "${where}".`,
    );
  if (authErrors.includes(String(name)))
    return createError(
      'MCP_AUTH',
      `The authorization for the MCP server "${where}" failed: ${text}`,
    );
  if (/^(408|429|5..)$/.test(`${status}`))
    return createError('MCP_UNREACHABLE', `${server} failed (${status}).`, true);
  if (code === 'REQUEST_TIMEOUT')
    return createError('MCP_TIMEOUT', `${server} did not answer in time.`, true);
  if (isBroken(error)) {
    const message = `There is no connection to the MCP server "${where}": ${text}`;
    return createError('MCP_UNREACHABLE', message, true);
  }
  const message = `"${where}" does not answer as an MCP server over Streamable HTTP: ${text}`;
  return createError('MCP_BAD_RESPONSE', message);
}

/** Returns whether the connection ended before the answer. */
function isBroken(error: unknown): boolean {
  const { name, code } = fieldsOf(error);
  if (isSaid(error) || /^(NOT_CONNECTED|CONNECTION_CLOSED|SEND_FAILED)$/.test(String(code)))
    return true;
  // An error without a code of the SDK came from `fetch`.
  return !String(name).startsWith('Sdk') && !isMisread(error);
}

/** JSON-RPC error of an answer that was lost. The code is the usual one for a closed connection. */
export const lostAnswer = { code: -32_000, message: 'the connection ended before the answer' };

/** Errors of the SDK's authorization flow. */
const authErrors = [
  'AuthorizationServerMismatchError',
  'InsecureTokenEndpointError',
  'InsufficientScopeError',
  'IssuerMismatchError',
  'OAuthError',
  'RegistrationRejectedError',
];

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
    /protocol version/i.test(errorText(error))
  );
}
