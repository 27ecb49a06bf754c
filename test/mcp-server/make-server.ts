import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  McpError,
  type CallToolResult,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js';
import type { McpHost } from './mcp-host.ts';

type Handler = (
  args: Readonly<Record<string, unknown>>,
  call: CallContext,
) => CallToolResult | Promise<CallToolResult>;

interface CallContext {
  readonly signal: AbortSignal;
  readonly host: McpHost;
  readonly headers: Readonly<Record<string, unknown>>;
  /** Reports progress if the client asked for it. */
  progress(progress: number, total: number, message: string): Promise<void>;
  /** Ends the response stream. The client has to resume it. */
  cut(): void;
}

const text = (value: string): CallToolResult => ({ content: [{ type: 'text', text: value }] });
/** One transparent pixel. */
const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

const handlers: Readonly<Record<string, Handler>> = {
  add: ({ a, b }) => text(String(Number(a) + Number(b))),
  echo: (args) => text(JSON.stringify(args)),
  headers: (_args, { headers }) => text(JSON.stringify(headers)),
  picture: () => ({
    content: [
      { type: 'text', text: 'A pixel:' },
      { type: 'image', data: png, mimeType: 'image/png' },
      { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
    ],
  }),
  documents: () => ({
    content: [
      {
        type: 'resource',
        resource: { uri: 'file:///notes.txt', mimeType: 'text/plain', text: 'Buy milk.' },
      },
      {
        type: 'resource',
        resource: { uri: 'file:///a.pdf', mimeType: 'application/pdf', blob: 'JVBERg==' },
      },
      {
        type: 'resource_link',
        uri: 'https://example.com/long.txt',
        name: 'long.txt',
        description: 'The whole text',
        mimeType: 'text/plain',
      },
    ],
  }),
  fail: ({ why }) => ({ isError: true, content: [{ type: 'text', text: String(why) }] }),
  fail_silently: () => ({ isError: true, content: [] }),
  structured: () => ({ content: [], structuredContent: { temperature: 21 } }),
  nothing: () => ({ content: [] }),
  long: ({ character = 'x', count }) => text(String(character).repeat(Number(count))),
  'odd.name/with spaces': () => text('odd'),
  async progress(_args, { progress }) {
    await progress(1, 2, 'half');
    await progress(2, 2, 'all');
    return text('done');
  },
  async slow(_args, { signal, host }) {
    host.happenings.happen('started');
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    host.happenings.happen('cancelled');
    return text('too late');
  },
  protocol_error({ code }) {
    throw new McpError(Number(code), 'as a protocol error');
  },
  rubbish: () => ({ content: 'no list' }) as never,
  pair: ({ text: said }) => ({
    content: [{ type: 'text', text: String(said) }],
    structuredContent: { said } as never,
  }),
  cut(_args, { cut }) {
    cut();
    return text('after the cut');
  },
};

const numbers = {
  type: 'object',
  properties: { a: { type: 'number' }, b: { type: 'number' } },
  required: ['a', 'b'],
} as const;

/** Creates an MCP server with the tools above. It lists four tools per page. */
export function makeServer(host: McpHost): Server {
  const server = new Server(
    { name: 'test-server', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true } }, instructions: 'Add first.' },
  );
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    host.happenings.happen('list');
    const all = [...Object.keys(handlers).map(toTool), ...host.added];
    const from = Number(params?.cursor ?? 0);
    return {
      tools: all.slice(from, from + 4),
      ...(from + 4 < all.length && { nextCursor: String(from + 4) }),
    };
  });
  server.setRequestHandler(
    CallToolRequestSchema,
    async ({ params }, { signal, requestInfo, requestId, sendNotification }) => {
      host.happenings.happen('call');
      const handler =
        handlers[params.name] ??
        (host.added.some(({ name }) => name === params.name)
          ? () => text(`ran ${params.name}`)
          : undefined);
      if (!handler) throw new Error(`Unknown tool ${params.name}`);
      const progressToken = params._meta?.progressToken;
      return handler(params.arguments ?? {}, {
        signal,
        host,
        headers: requestInfo?.headers ?? {},
        async progress(progress, total, message) {
          if (progressToken === undefined) return;
          await sendNotification({
            method: 'notifications/progress',
            params: { progressToken, progress, total, message },
          });
        },
        cut: () => (server.transport as StreamableHTTPServerTransport).closeSSEStream(requestId),
      });
    },
  );
  return server;
}

function toTool(name: string): Tool {
  const inputSchema = name === 'add' ? numbers : ({ type: 'object' } as const);
  return {
    name,
    description: `Does ${name}.`,
    inputSchema: {
      $schema: 'http://json-schema.org/draft-07/schema#',
      ...inputSchema,
    } as Tool['inputSchema'],
  };
}
