import { AgentError, messageOf } from '../error/agent-error.ts';

/**
 * Converts an error of an MCP server or its connection to an `AgentError`. `where` names the
 * server.
 *
 * - `MCP_AUTH`: the server refused the credentials (401, 403).
 * - `MCP_UNREACHABLE`: there is no connection, it broke before the answer, or the server failed
 *   (5xx, 408, 429).
 * - `MCP_TIMEOUT`: no answer in time.
 * - `MCP_BAD_RESPONSE`: it is not an MCP server over Streamable HTTP, or it rejects the request.
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
  // Servers choose the codes of their own errors freely, so only the text is used.
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
  // The SDK's own code for a connection that ended. An error without a JSON-RPC code came from
  // `fetch`.
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
 * Whether the server reports an unknown session, so that the request did not run. Some servers use
 * 400 instead of the specification's 404.
 */
export function isSessionUnknown(error: unknown): boolean {
  const { name, code } = Object(error) as { readonly name?: unknown; readonly code?: unknown };
  // A protocol error may have any code, and its call did run.
  return name !== 'McpError' && (code === 404 || code === 400);
}

/** Whether the answer is not JSON, not a valid message, or of an unknown protocol version. */
function isMisread(error: unknown): boolean {
  return (
    error instanceof SyntaxError ||
    Array.isArray(Object(error).issues) ||
    /protocol version/i.test(messageOf(error))
  );
}
