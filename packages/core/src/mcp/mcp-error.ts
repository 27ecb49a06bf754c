import { AgentError, messageOf } from '../error/agent-error.ts';

/**
 * Converts an error of an MCP server or of its connection to an `AgentError`. `where` is the name
 * of the server.
 *
 * - `MCP_AUTH`: the server refused the credentials (401, 403).
 * - `MCP_UNREACHABLE`: there is no connection, the connection broke before the answer, or the server
 *   failed (5xx, 408, 429).
 * - `MCP_TIMEOUT`: the server did not answer before the time limit.
 * - `MCP_BAD_RESPONSE`: the server does not use MCP over Streamable HTTP, or it rejects the
 *   request.
 */
export function toMcpError(error: unknown, where: string): AgentError {
  if (AgentError.is(error)) return error;
  const { name, code: status } = Object(error) as {
    readonly name?: unknown;
    readonly code?: unknown;
  };
  const said = messageOf(error)
    .replace(/^(?:MCP error -?\d+: |Streamable HTTP error: )+/, '')
    .slice(0, 300);
  const options = {
    cause: error,
    details: { server: where, ...(typeof status === 'number' && { status }) },
  };
  const retryable = { ...options, retryable: true };
  // Servers choose the codes of their own errors freely, so only the text of such an error is used.
  const isSaid =
    name === 'McpError' &&
    !/: (?:Connection closed|Request timed out|the connection ended before the answer)$/.test(
      messageOf(error),
    );
  if (isSaid)
    return new AgentError('MCP_BAD_RESPONSE', `The MCP server "${where}" says: ${said}`, options);
  if (status === 401 || status === 403)
    return new AgentError(
      'MCP_AUTH',
      `The MCP server "${where}" refused the credentials (${status}).`,
      options,
    );
  if (status === 408 || status === 429 || (typeof status === 'number' && status >= 500)) {
    return new AgentError(
      'MCP_UNREACHABLE',
      `The MCP server "${where}" failed (${status}).`,
      retryable,
    );
  }
  if (status === -32_001)
    return new AgentError(
      'MCP_TIMEOUT',
      `The MCP server "${where}" did not answer in time.`,
      retryable,
    );
  // The code -32000 is the SDK's own code for a connection that ended. An error without a numeric
  // code came from `fetch`.
  if (status === -32_000 || (typeof status !== 'number' && !isMisread(error))) {
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

/**
 * Returns whether the server reports an unknown session. In that case, the request did not run.
 * Some servers report 400 instead of the 404 that the specification requires.
 */
export function isSessionUnknown(error: unknown): boolean {
  const { name, code } = Object(error) as { readonly name?: unknown; readonly code?: unknown };
  // An error of the MCP protocol may have any code. The server handled its request, so the session
  // is known.
  return name !== 'McpError' && (code === 404 || code === 400);
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
