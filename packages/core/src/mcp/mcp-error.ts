import { AgentError, messageOf } from '../error/agent-error.ts';

/**
 * What went wrong between us and an MCP server, by its code. `where` names the server.
 *
 * - `MCP_AUTH`: it refused the credentials (401, 403).
 * - `MCP_UNREACHABLE`: no connection, or it broke before the answer; or the server failed (5xx,
 *   429).
 * - `MCP_TIMEOUT`: no answer in time.
 * - `MCP_BAD_RESPONSE`: it is no MCP server over Streamable HTTP, or says no to the request.
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
  // What the server itself says with a code of its choice is no more than its words.
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
  // The SDK's own code for a connection that ended; what is no JSON-RPC error came from `fetch`.
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
 * Whether the server says that it does not know the session: the request did not run. Some say 400
 * where the specification has 404.
 */
export function isSessionUnknown(error: unknown): boolean {
  const { name, code } = Object(error) as { readonly name?: unknown; readonly code?: unknown };
  // A protocol error may have any code, and comes from a call that ran.
  return name !== 'McpError' && (code === 404 || code === 400);
}

/** An answer that is no JSON, or no message of a protocol that we know. */
function isMisread(error: unknown): boolean {
  return (
    error instanceof SyntaxError ||
    Array.isArray(Object(error).issues) ||
    /protocol version/i.test(messageOf(error))
  );
}
