import { AgentError, errorText, type AgentErrorCode } from '@isoloop/core';
import { fieldsOf } from '@isoloop/core/error';
import { omitUndefined } from '@isoloop/core/message';

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
  const { code, cause } = fieldsOf(error);
  if (code === 'ERA_NEGOTIATION_FAILED' && cause) return toMcpError(cause, where);
  const [mcpCode, problem, retryable = false] = meaningOf(error);
  const details = omitUndefined({ server: where, status: statusOf(error) });
  const options = { retryable, cause: error, details };
  return new AgentError(mcpCode, `The MCP server "${where}" ${problem}`, options);
}

type Meaning = readonly [code: AgentErrorCode, problem: string, retryable?: boolean];

/** Returns the code for an error, and the part of the message after the server's name. */
function meaningOf(error: unknown): Meaning {
  const { name, code } = fieldsOf(error);
  const status = statusOf(error);
  const text = (isMalformed(error) ? 'an answer is no valid message' : errorText(error))
    .replace(/^(?:MCP error -?\d+: |Error POSTing to endpoint: )+/, '')
    .slice(0, 300);
  if (isSaid(error) && errorText(error) !== lostAnswer.message)
    return ['MCP_BAD_RESPONSE', `says: ${text}`];
  if (status === 401 || status === 403) return ['MCP_AUTH', `refused the credentials (${status}).`];
  if (name === 'UnauthorizedError') return ['MCP_AUTH', 'needs a person who allows the access.'];
  if (authErrors.test(String(name))) return ['MCP_AUTH', `could not authorize: ${text}`];
  if (/^(408|429|5..)$/.test(`${status}`)) return ['MCP_UNREACHABLE', `failed (${status}).`, true];
  if (code === 'REQUEST_TIMEOUT') return ['MCP_TIMEOUT', 'did not answer in time.', true];
  if (isBroken(error)) return ['MCP_UNREACHABLE', `cannot be reached: ${text}`, true];
  return ['MCP_BAD_RESPONSE', `does not answer as MCP over Streamable HTTP: ${text}`];
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
const authErrors =
  /^(AuthorizationServerMismatch|InsecureTokenEndpoint|InsufficientScope|IssuerMismatch|OAuth|RegistrationRejected)Error$/;

/**
 * Returns whether the server reports an unknown session. In that case, the request did not run. The
 * specification requires 404. Some servers report 400 or 410, or say it with any other status.
 */
export function isSessionUnknown(error: unknown): boolean {
  // An error of the MCP protocol may have any code, and a tool may have caused it.
  const status = isSaid(error) ? undefined : statusOf(error);
  if (status === undefined || status === 401 || status === 403) return false;
  return [400, 404, 410].includes(status) || unknownSession.test(errorText(error));
}

/**
 * Returns whether the server may have forgotten the session. Some servers then answer with 200 and
 * an error of the protocol, or with an answer to no request. The request may have run.
 */
export function isSessionDoubtful(error: unknown): boolean {
  const text = errorText(error);
  return isMisread(error) || endedSession.test(text) || unknownSession.test(text);
}

/** Words about an unknown session, as servers report it. */
const unknownSession =
  /\bsession (id )?(was )?not found|(no valid|unknown) (mcp-)?session|server not initialized/i;

/** Words that may also be about a session of the tool, such as that of its database. */
const endedSession = /\bsession (id )?(was )?(expired|terminated)/i;

/** Returns whether the server itself reported the error, as an error of the MCP protocol. */
function isSaid(error: unknown): boolean {
  return fieldsOf(error).name === 'ProtocolError';
}

function statusOf(error: unknown): number | undefined {
  const { data, name } = fieldsOf(error);
  const { status } = fieldsOf(data);
  return name === 'SdkHttpError' && typeof status === 'number' ? status : undefined;
}

/**
 * Returns whether the answer is not JSON, is not a valid message, or has an unknown protocol
 * version.
 */
function isMisread(error: unknown): boolean {
  return (
    error instanceof SyntaxError || isMalformed(error) || /protocol version/i.test(errorText(error))
  );
}

/** Returns whether the SDK found that an answer is no message. Its text is a long list in JSON. */
function isMalformed(error: unknown): boolean {
  return Array.isArray(fieldsOf(error)['issues']);
}
