import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  McpError,
  type ElicitRequest,
  type ElicitResult,
} from '@modelcontextprotocol/sdk/types.js';
import { handlerOf, listPage } from './handlers.ts';
import type { McpHost } from './mcp-host.ts';

/** Creates an MCP server with the tools of `handlers.ts`. Its newest revision is 2025-11-25. */
export function makeServer(host: McpHost): Server {
  const server = new Server(
    { name: 'test-server', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true } }, instructions: 'Add first.' },
  );
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => listPage(host, params?.cursor));
  server.setRequestHandler(
    CallToolRequestSchema,
    async ({ params }, { signal, requestInfo, requestId, sendNotification }) => {
      const progressToken = params._meta?.progressToken;
      const elicit = (question: unknown): Promise<ElicitResult> =>
        server.elicitInput(question as ElicitRequest['params'] & { mode: 'form' }, {
          relatedRequestId: requestId,
          signal,
        });
      return handlerOf(host, params.name)(params.arguments ?? {}, {
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
        async ask(questions) {
          const answers: Record<string, ElicitResult> = {};
          for (const [key, question] of Object.entries(questions))
            answers[key] = await elicit(question);
          return answers;
        },
        fail(code, message, data) {
          throw new McpError(code, message, data);
        },
        later: () => {},
        askForModel: () =>
          server.createMessage({ messages: [], maxTokens: 1 }, { relatedRequestId: requestId }),
      });
    },
  );
  return server;
}
