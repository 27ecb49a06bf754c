import { AgentError } from '../error/agent-error.ts';
import { checkFields } from '../error/check-fields.ts';
import type { JsonObject } from '../message/json.ts';
import type { StandardSchema } from '../schema/to-schema.ts';
import type { ReplayPolicy, Tool } from '../tool/tool.ts';

export interface McpToolsOptions {
  /** The server's Streamable HTTP endpoint: `http:` or `https:`. */
  readonly url: string | URL;
  /**
   * What the server is called in errors, on its tools and in `allowedServers`. Default: the URL's
   * host.
   */
  readonly name?: string;
  /**
   * The names of servers that may be asked at all; default: any (Arc Reactor: allow-list of server
   * names).
   */
  readonly allowedServers?: readonly string[];
  /**
   * For each request; a function is asked each time, so that a token can be renewed. Never put into
   * an error.
   */
  readonly headers?: McpHeaders | (() => McpHeaders | Promise<McpHeaders>);
  /** Default: the platform's. */
  readonly fetch?: typeof fetch;
  /**
   * The server's own names of the tools to offer; default: all. A name it does not have is no
   * error: its list may change.
   */
  readonly include?: readonly string[];
  /** The server's own names of the tools to leave out. */
  readonly exclude?: readonly string[];
  /**
   * Stands before each tool's name, so that two servers can have tools of one name: letters,
   * digits, `_` and `-`, at most 32.
   */
  readonly prefix?: string;
  /**
   * Characters of text that a result may have; what is longer is cut and marked. Default 50 000
   * (Arc Reactor).
   */
  readonly maxOutputChars?: number;
  /** Milliseconds to connect and list the tools; default 30 000 (Arc Reactor). */
  readonly connectTimeoutMs?: number;
  /**
   * Milliseconds one call of a tool may take; default 5 minutes, as for any tool. Then the server
   * is told to cancel it.
   */
  readonly timeoutMs?: number;
  /** What to do when the server has gone. */
  readonly reconnect?: McpReconnectOptions;
  /**
   * True: a server that cannot be connected to is told to `onError` and fails nothing; its tools
   * come when it can. Default false.
   */
  readonly optional?: boolean;
  /**
   * Checks arguments before they are sent: `jsonSchema` of `@isoloop/core/json-schema`. Default:
   * the server checks them.
   */
  readonly schema?: (schema: JsonObject) => StandardSchema;
  /** For every tool of the server, as in `tool()`. */
  readonly needsApproval?: Tool['needsApproval'];
  /** For every tool of the server, as in `tool()`. */
  readonly replay?: ReplayPolicy;
  /** The toolkit's groups that the tools belong to, where `list()` is put into a `Toolkit`. */
  readonly group?: string | readonly string[];
  /** Who we are to the server. */
  readonly clientInfo?: { readonly name: string; readonly version: string };
  /** Told when the tools are others than before. */
  readonly onToolsChanged?: (tools: readonly Tool[]) => void;
  /**
   * Told of failures in the background, which nobody waits for: of reconnecting, of listing anew,
   * of what is listed and is no tool. Default: a warning on the console.
   */
  readonly onError?: (error: AgentError) => void;
}

export type McpHeaders = Readonly<Record<string, string>>;

export interface McpReconnectOptions {
  /** Tries in the background; 0: none, only a call connects anew. Default 5 (Arc Reactor). */
  readonly attempts?: number;
  /** Milliseconds before the first try; doubled before each further one. Default 5 000. */
  readonly firstDelayMs?: number;
  /** The longest of these waits. Default 60 000. */
  readonly maxDelayMs?: number;
  /**
   * Waits; default `setTimeout`. The signal is raised when there is nothing to wait for any more.
   */
  readonly sleep?: (ms: number, signal: AbortSignal) => PromiseLike<unknown>;
}

/**
 * Throws `CONFIGURATION` for an option that is not of its kind, and for a server that is not
 * allowed.
 */
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
    throw wrong(`url must be that of an HTTP server, not ${JSON.stringify(String(options.url))}.`);
  }
  if (!/^[\w-]{0,32}$/.test(prefix))
    throw wrong(`"${prefix}" is no prefix: at most 32 letters, digits, _ and -.`);
  const name = serverName(options);
  if (!name.trim()) throw wrong('name must not be blank.');
  if (group?.some((each) => !each.trim())) throw wrong('group must not be blank.');
  if (maxOutputChars % 1) throw wrong('maxOutputChars must be a whole number.');
  if (allowedServers && !allowedServers.includes(name))
    throw wrong(`the server "${name}" is not among the allowed ones.`);
  if (typeof headers === 'object') toHeaders(headers);
}

export function serverName({ name, url }: McpToolsOptions): string {
  return name ?? new URL(url).host;
}

/** Throws `CONFIGURATION` for what cannot be sent; the values are not told. */
export function toHeaders(given: McpHeaders): Headers {
  checkFields('CONFIGURATION', 'mcpTools(): headers', given, '');
  try {
    for (const value of Object.values(given))
      if (typeof value !== 'string') throw new TypeError('no text');
    return new Headers(given);
  } catch {
    const wrong = Object.keys(given).join(', ');
    throw new AgentError(
      'CONFIGURATION',
      `mcpTools(): headers must have names and values that HTTP can send; there are: ${wrong}.`,
    );
  }
}
