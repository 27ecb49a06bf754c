import type { OAuthClientProvider } from '@modelcontextprotocol/client';
import {
  checkOptions,
  array,
  boolean,
  either,
  func,
  infinity,
  nonNegative,
  object,
  oneOf,
  optional,
  string,
  strings,
  whole,
  type OptionTable,
  type OtherNames,
  checkFields,
} from '@isoloop/core/options';
import { AgentError, type JsonObject, type ReplayPolicy, type Tool } from '@isoloop/core';
import type { StandardSchema } from '@isoloop/core/schema';

/** Which MCP server to use, which of its tools, and with which limits. */
export interface McpToolsOptions {
  /** URL of the server's Streamable HTTP endpoint, with `http:` or `https:`. */
  readonly url: string | URL;
  /**
   * Name of the server in errors, on its tools and in `allowedServers`. Default: the host of the
   * URL.
   */
  readonly name?: string;
  /**
   * Names of the servers that may be used. Default: all servers. Source: Arc Reactor, allow-list of
   * server names.
   */
  readonly allowedServers?: readonly string[];
  /**
   * Headers of each request, or a function that returns them. The function is called for each
   * request, so that it can renew a token. Errors never contain the values of headers.
   */
  readonly headers?: McpHeaders | (() => McpHeaders | Promise<McpHeaders>);
  /**
   * OAuth client, as the SDK defines it. It keeps the tokens. If a person has to allow the access,
   * its `redirectToAuthorization` gets the address. `mcpTools()` or the tool call then fails with
   * `MCP_AUTH`.
   */
  readonly auth?: OAuthClientProvider;
  /**
   * Whether the server may ask the user questions. A question suspends the tool call. The answer is
   * the decision about that tool call. Default: true.
   */
  readonly elicitation?: boolean;
  /** `fetch` function for all requests. Default: the platform's `fetch`. */
  readonly fetch?: typeof fetch;
  /**
   * Tools to offer, by the server's own names. Default: all tools. An unknown name is not an error,
   * because the server's list may change.
   */
  readonly include?: readonly string[];
  /** Tools to leave out, by the server's own names. */
  readonly exclude?: readonly string[];
  /**
   * Prefix of each tool's name, so that two servers can have tools of the same name. At most 32
   * letters, digits, `_` and `-`. A name that begins with another character than a letter gets
   * `tool_` before it.
   */
  readonly prefix?: string;
  /**
   * Maximum number of characters of text in a tool result. Longer text is shortened, and a note
   * says so. Default: 50,000. Source: Arc Reactor.
   */
  readonly maxOutputChars?: number;
  /**
   * Time limit for connecting and listing the tools, in milliseconds. Default: 30,000. Source: Arc
   * Reactor.
   */
  readonly connectTimeoutMs?: number;
  /**
   * Time limit for one tool call, in milliseconds. Default: 5 minutes, as for any tool. At the
   * limit, the server is asked to cancel the tool call.
   */
  readonly timeoutMs?: number;
  /** How to reconnect after the connection or the session was lost. */
  readonly reconnect?: McpReconnectOptions;
  /**
   * Whether `mcpTools()` also resolves if it cannot connect. `onError` then gets the error. The
   * tools are added when the server can be reached. Default: false.
   */
  readonly optional?: boolean;
  /**
   * Function that creates the schema for the arguments, which are checked before they are sent. Use
   * `jsonSchema` of `@isoloop/core/schema`. Default: the server checks the arguments.
   */
  readonly schema?: (schema: JsonObject) => StandardSchema;
  /** Whether tool calls need approval, for all tools of the server. See `tool()`. */
  readonly needsApproval?: Tool['needsApproval'];
  /** Replay policy of all tools of the server. See `tool()`. */
  readonly replay?: ReplayPolicy;
  /** Groups of the tools, if you put `list()` into a `Toolkit`. */
  readonly group?: string | readonly string[];
  /** Function that gets the new list of tools after each change. */
  readonly onToolsChanged?: (tools: readonly Tool[]) => void;
  /**
   * Function that gets errors in the background, which no caller gets. They come from reconnecting,
   * from listing the tools again, and from listed items that are not valid tools. Default: logs a
   * warning to the console.
   */
  readonly onError?: (error: AgentError) => void;
}

/** HTTP headers for an MCP server, by name. */
export type McpHeaders = Readonly<Record<string, string>>;

/** When and how often a lost MCP connection is opened again. */
export interface McpReconnectOptions {
  /**
   * Number of attempts in the background. Default: 5. With 0, only the next tool call reconnects.
   * Source: Arc Reactor.
   */
  readonly attempts?: number;
  /**
   * Wait before the first attempt, in milliseconds. It doubles before each further attempt.
   * Default: 5,000.
   */
  readonly firstDelayMs?: number;
  /** Maximum wait before an attempt, in milliseconds. Default: 60,000. */
  readonly maxDelayMs?: number;
  /**
   * Function that waits. Default: uses `setTimeout`. The signal aborts when the wait is no longer
   * needed.
   */
  readonly sleep?: (ms: number, signal: AbortSignal) => PromiseLike<unknown>;
}

const mcpToolsOptions: OptionTable<McpToolsOptions> = {
  url: either(string, object),
  name: optional(string),
  allowedServers: optional(strings),
  headers: optional(either(object, func)),
  auth: optional(object),
  elicitation: optional(boolean),
  fetch: optional(func),
  include: optional(strings),
  exclude: optional(strings),
  prefix: optional(string),
  maxOutputChars: optional(either(whole, infinity)),
  connectTimeoutMs: optional(nonNegative),
  timeoutMs: optional(nonNegative),
  reconnect: optional(object),
  optional: optional(boolean),
  schema: optional(func),
  needsApproval: optional(either(boolean, func)),
  replay: optional(oneOf('safe', 'ask', 'never')),
  group: optional(either(string, array)),
  onToolsChanged: optional(func),
  onError: optional(func),
};

/** Names that other libraries use for the options of `mcpTools()`. */
const otherMcpNames: OtherNames<McpToolsOptions> = {
  url: ['serverUrl', 'endpoint', 'transport', 'serverParams'],
  auth: ['authProvider'],
  headers: ['requestInit'],
  include: ['tools', 'allowedTools', 'toolFilter'],
  needsApproval: ['requireApproval'],
  timeoutMs: ['timeout'],
};

const reconnectOptions: OptionTable<McpReconnectOptions> = {
  attempts: optional(nonNegative),
  firstDelayMs: optional(nonNegative),
  maxDelayMs: optional(nonNegative),
  sleep: optional(func),
};

/** Throws `CONFIGURATION` for an option of the wrong kind, or for a server that is not allowed. */
export function checkMcpOptions(options: McpToolsOptions): void {
  checkOptions('mcpTools()', options, mcpToolsOptions, 'CONFIGURATION', otherMcpNames);
  const { url, reconnect = {}, prefix = '', headers } = options;
  checkOptions('mcpTools(): reconnect', reconnect, reconnectOptions);
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw optionError(`url must be the URL of an HTTP server, not ${JSON.stringify(String(url))}.`);
  if (!/^[\w-]{0,32}$/.test(prefix))
    throw optionError(`"${prefix}" is not a prefix. Use at most 32 letters, digits, _ and -.`);
  const name = serverName(options);
  if (options.allowedServers?.includes(name) === false)
    throw optionError(`the server "${name}" is not in allowedServers.`);
  if (typeof headers === 'object') toHeaders(headers);
}

function optionError(what: string): AgentError {
  return new AgentError('CONFIGURATION', `mcpTools(): ${what}`);
}

/** Returns the time limit for connecting and for listing the tools, in milliseconds. */
export function connectTimeoutOf({ connectTimeoutMs = 30_000 }: McpToolsOptions): number {
  return connectTimeoutMs;
}

export function serverName({ name, url }: McpToolsOptions): string {
  return name ?? new URL(url).host;
}

/**
 * Converts headers to a `Headers` object. Throws `CONFIGURATION` for headers that HTTP cannot send.
 * The message does not contain the values of headers.
 */
export function toHeaders(headers: McpHeaders): Headers {
  checkFields('mcpTools(): headers', headers, {});
  try {
    return new Headers(headers);
  } catch {
    throw optionError(`HTTP cannot send these headers: ${Object.keys(headers).join(', ')}.`);
  }
}
