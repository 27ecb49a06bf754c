import { AgentError } from '../error/agent-error.ts';
import { checkFields } from '../error/check-fields.ts';
import type { JsonObject } from '../message/json.ts';
import type { StandardSchema } from '../schema/to-schema.ts';
import type { ReplayPolicy, Tool } from '../tool/tool.ts';

export interface McpToolsOptions {
  /** The server's Streamable HTTP endpoint: `http:` or `https:`. */
  readonly url: string | URL;
  /** The server's name in errors, on its tools and in `allowedServers`. Default: the URL's host. */
  readonly name?: string;
  /**
   * Names of the servers that may be used; default: any (Arc Reactor: allow-list of server names).
   */
  readonly allowedServers?: readonly string[];
  /**
   * Headers of each request. A function is called for each request, so that it can renew a token.
   * Errors never contain the headers' values.
   */
  readonly headers?: McpHeaders | (() => McpHeaders | Promise<McpHeaders>);
  /** The `fetch` function; default: the platform's. */
  readonly fetch?: typeof fetch;
  /**
   * The tools to offer, by the server's own names; default: all. Unknown names are no error,
   * because the server's list may change.
   */
  readonly include?: readonly string[];
  /** The tools to leave out, by the server's own names. */
  readonly exclude?: readonly string[];
  /**
   * Prefix of each tool's name, so that two servers can have tools of the same name. Letters,
   * digits, `_` and `-`; at most 32.
   */
  readonly prefix?: string;
  /**
   * Maximum characters of text in a result; longer text is cut and marked. Default 50,000 (Arc
   * Reactor).
   */
  readonly maxOutputChars?: number;
  /** Milliseconds to connect and list the tools; default 30,000 (Arc Reactor). */
  readonly connectTimeoutMs?: number;
  /**
   * Milliseconds for one call of a tool; default 5 minutes, as for any tool. After that, the server
   * is asked to cancel the call.
   */
  readonly timeoutMs?: number;
  /** How to reconnect when the server is gone. */
  readonly reconnect?: McpReconnectOptions;
  /**
   * Whether `mcpTools()` resolves even if it can't connect. `onError` then receives the error, and
   * the tools appear once the server is reachable. Default false.
   */
  readonly optional?: boolean;
  /**
   * Creates the schema that checks arguments before they are sent: `jsonSchema` of
   * `@isoloop/core/json-schema`. Default: the server checks them.
   */
  readonly schema?: (schema: JsonObject) => StandardSchema;
  /** Whether calls need approval, for every tool of the server; as in `tool()`. */
  readonly needsApproval?: Tool['needsApproval'];
  /** Replay policy of every tool of the server; as in `tool()`. */
  readonly replay?: ReplayPolicy;
  /** The groups of the tools in a `Toolkit` that `list()` is put into. */
  readonly group?: string | readonly string[];
  /** The name and version that this client sends to the server. */
  readonly clientInfo?: { readonly name: string; readonly version: string };
  /** Receives the new tools after each change. */
  readonly onToolsChanged?: (tools: readonly Tool[]) => void;
  /**
   * Receives failures in the background, which no caller sees. They come from reconnecting, from
   * listing again, and from listed items that are not valid tools. Default: a warning on the
   * console.
   */
  readonly onError?: (error: AgentError) => void;
}

export type McpHeaders = Readonly<Record<string, string>>;

export interface McpReconnectOptions {
  /** Attempts in the background; default 5 (Arc Reactor). With 0, only the next call reconnects. */
  readonly attempts?: number;
  /** Milliseconds before the first attempt; doubled before each further one. Default 5,000. */
  readonly firstDelayMs?: number;
  /** Maximum milliseconds before an attempt. Default 60,000. */
  readonly maxDelayMs?: number;
  /** Waits; default `setTimeout`. The signal aborts when there is no reason to wait anymore. */
  readonly sleep?: (ms: number, signal: AbortSignal) => PromiseLike<unknown>;
}

/** Throws `CONFIGURATION` for an option of the wrong kind, and for a server that is not allowed. */
export function checkMcpOptions(options: McpToolsOptions): void {
  const kinds =
    'url:string|object name:string|? allowedServers:array|? headers:object|function|? fetch:function|? include:array|? exclude:array|? prefix:string|? ' +
    'maxOutputChars:count|? connectTimeoutMs:count|? timeoutMs:count|? reconnect:object|? optional:boolean|? schema:function|? ' +
    'needsApproval:boolean|function|? replay:safe|ask|never|? group:string|array|? clientInfo:object|? onToolsChanged:function|? onError:function|?';
  checkFields('CONFIGURATION', 'mcpTools()', options, kinds);
  const {
    reconnect = {},
    clientInfo,
    prefix = '',
    allowedServers,
    include,
    exclude,
    headers,
    maxOutputChars = 0,
  } = options;
  const group = typeof options.group === 'string' ? [options.group] : options.group;
  for (const [key, texts] of Object.entries({ allowedServers, include, exclude, group })) {
    for (const text of texts ?? [])
      checkFields('CONFIGURATION', `mcpTools(): each of ${key}`, { text }, 'text:string');
  }
  checkFields(
    'CONFIGURATION',
    'mcpTools(): reconnect',
    reconnect,
    'attempts:count|? firstDelayMs:count|? maxDelayMs:count|? sleep:function|?',
  );
  if (clientInfo)
    checkFields(
      'CONFIGURATION',
      'mcpTools(): clientInfo',
      clientInfo,
      'name:string version:string',
    );
  const wrong = (what: string): AgentError =>
    new AgentError('CONFIGURATION', `mcpTools(): ${what}`);
  if (
    Array.isArray(options.url) ||
    !URL.canParse(options.url) ||
    !/^https?:$/.test(new URL(options.url).protocol)
  ) {
    throw wrong(
      `url must be the URL of an HTTP server, not ${JSON.stringify(String(options.url))}.`,
    );
  }
  if (!/^[\w-]{0,32}$/.test(prefix))
    throw wrong(`"${prefix}" is not a prefix. Use at most 32 letters, digits, _ and -.`);
  const name = serverName(options);
  if (!name.trim()) throw wrong('name must not be blank.');
  if (group?.some((each) => !each.trim())) throw wrong('group must not be blank.');
  if (maxOutputChars % 1) throw wrong('maxOutputChars must be a whole number.');
  if (allowedServers && !allowedServers.includes(name))
    throw wrong(`the server "${name}" is not in allowedServers.`);
  if (typeof headers === 'object') toHeaders(headers);
}

export function serverName({ name, url }: McpToolsOptions): string {
  return name ?? new URL(url).host;
}

/**
 * Converts headers. Throws `CONFIGURATION` for headers that HTTP can't send; the message does not
 * contain their values.
 */
export function toHeaders(given: McpHeaders): Headers {
  checkFields('CONFIGURATION', 'mcpTools(): headers', given, '');
  try {
    for (const value of Object.values(given))
      if (typeof value !== 'string') throw new TypeError('no text');
    return new Headers(given);
  } catch {
    const wrong = Object.keys(given).join(', ');
    throw new AgentError('CONFIGURATION', `mcpTools(): HTTP cannot send these headers: ${wrong}.`);
  }
}
