import {
  inputRequired,
  ProtocolError,
  Server,
  type CallToolResult,
  type ElicitResult,
  type InputRequiredResult,
} from '@modelcontextprotocol/server';
import { handlerOf, listPage, type Question } from './handlers.ts';
import type { McpHost } from './mcp-host.ts';

/** Ends a call with a request for input. */
class NeedsInput extends Error {
  readonly result: InputRequiredResult;

  constructor(result: InputRequiredResult) {
    super('needs input');
    this.result = result;
  }
}

type Answers = Readonly<Record<string, ElicitResult>>;

/**
 * Creates an MCP server of revision 2026-07-28 with the tools of `handlers.ts`, for one request. It
 * keeps the answers of a call in the request state, which the client sends back.
 */
export function makeCurrentServer(host: McpHost): Server {
  const server = new Server(
    { name: 'test-server', version: '2.0.0' },
    { capabilities: { tools: { listChanged: true } }, instructions: 'Add first.' },
  );
  server.setRequestHandler('tools/list', ({ params }) => listPage(host, params?.cursor) as never);
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq, http }) => {
    const state = (mcpReq.requestState() as string | undefined) ?? '[]';
    const known = JSON.parse(state) as Answers[];
    if (mcpReq.inputResponses) known.push(mcpReq.inputResponses as Answers);
    const progressToken = params._meta?.progressToken;
    let asked = 0;
    try {
      const result = await handlerOf(host, params.name)(params.arguments ?? {}, {
        signal: mcpReq.signal,
        host,
        headers: Object.fromEntries(http?.req?.headers ?? []),
        async progress(progress, total, message) {
          if (progressToken === undefined) return;
          await mcpReq.notify({
            method: 'notifications/progress',
            params: { progressToken, progress, total, message },
          });
        },
        cut: () => http?.closeSSE?.(),
        async ask(questions) {
          asked += 1;
          const answers = known[asked - 1];
          if (answers) return answers;
          throw new NeedsInput(
            inputRequired({
              inputRequests: Object.fromEntries(
                Object.entries(questions).map(([key, question]) => [key, toInput(question)]),
              ),
              requestState: JSON.stringify(known),
            }),
          );
        },
        fail(code, message, data) {
          throw new ProtocolError(code, message, data);
        },
        later() {
          if (state === '[]') throw new NeedsInput(inputRequired({ requestState: '[{}]' }));
        },
        askForModel() {
          const inputRequests = {
            model: inputRequired.createMessage({ messages: [], maxTokens: 1 }),
          };
          throw new NeedsInput(inputRequired({ inputRequests }));
        },
      });
      return result as CallToolResult;
    } catch (error) {
      if (error instanceof NeedsInput) return error.result;
      throw error;
    }
  });
  return server;
}

function toInput(question: Question): ReturnType<typeof inputRequired.elicit> {
  if (!('url' in question)) return inputRequired.elicit(question);
  const { message, url } = question;
  return inputRequired.elicitUrl({ message, url });
}
