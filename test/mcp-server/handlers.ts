import type { ElicitRequestParams, ElicitResult } from '@modelcontextprotocol/client';
import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';
import type { McpHost } from './mcp-host.ts';

export type Handler = (
  args: Readonly<Record<string, unknown>>,
  call: CallContext,
) => CallToolResult | Promise<CallToolResult>;

export type Question = ElicitRequestParams;

export interface CallContext {
  readonly signal: AbortSignal;
  readonly host: McpHost;
  readonly headers: Readonly<Record<string, unknown>>;
  /** Reports progress if the client asked for it. */
  progress(progress: number, total: number, message: string): Promise<void>;
  /** Ends the response stream. The client has to resume it. */
  cut(): void;
  /** Asks the user. Resolves with the answers by the keys of the questions. */
  ask(
    questions: Readonly<Record<string, Question>>,
  ): Promise<Readonly<Record<string, ElicitResult>>>;
  /** Fails with a protocol error. */
  fail(code: number, message: string, data?: unknown): never;
  /** Asks the client to send the call again. Older servers do nothing. */
  later(): void;
  /** Sends a request that the client does not answer. */
  askForModel(): Promise<unknown>;
}

const text = (value: string): CallToolResult => ({ content: [{ type: 'text', text: value }] });
/** One transparent pixel. */
const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

const sizeForm = {
  mode: 'form',
  message: 'Which size?',
  requestedSchema: {
    type: 'object',
    properties: {
      size: { type: 'string', enum: ['S', 'M'] },
      count: { type: 'integer', minimum: 1, default: 1 },
    },
    required: ['size', 'count'],
  },
} as const satisfies Question;

const nameForm = {
  mode: 'form',
  message: 'Your name?',
  requestedSchema: {
    type: 'object',
    properties: { name: { type: 'string', minLength: 2 } },
    required: ['name'],
  },
} as const satisfies Question;

const signInPage = {
  mode: 'url',
  message: 'Sign in at',
  url: 'https://example.com/sign-in',
  elicitationId: 'e1',
} as const satisfies Question;

export const handlers: Readonly<Record<string, Handler>> = {
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
  protocol_error({ code }, { fail }) {
    return fail(Number(code), 'as a protocol error');
  },
  rubbish: () => ({ content: 'no list' }) as never,
  pair: ({ text: said }) => ({
    content: [{ type: 'text', text: String(said) }],
    structuredContent: { said } as never,
  }),
  async order(_args, { ask, host }) {
    host.happenings.happen('asking');
    const { size } = await ask({ size: sizeForm });
    if (size!.action !== 'accept') return text(size!.action);
    host.happenings.happen('ordered');
    return text(`ordered ${JSON.stringify(size!.content)}`);
  },
  async order_twice(_args, { ask, host, progress }) {
    const { size } = await ask({ size: sizeForm });
    await progress(1, 2, 'one answer');
    const { name } = await ask({ name: nameForm });
    host.happenings.happen('ordered');
    return text(`ordered ${JSON.stringify([size!.content, name!.content])}`);
  },
  async sign_in(_args, { ask }) {
    const { page, name } = await ask({ page: signInPage, name: nameForm });
    return text(JSON.stringify([page, name]));
  },
  visit(_args, { fail, host }) {
    if (host.happenings.count('visited') > 0) return text('welcome');
    return fail(-32_042, 'Sign in first', { elicitations: [signInPage] });
  },
  busy(_args, { later }) {
    later();
    return text('now');
  },
  async grow(_args, { host }) {
    await host.control('add', 'later');
    return text('grown');
  },
  async ask_for_model(_args, { askForModel }) {
    return text(JSON.stringify(await askForModel()));
  },
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

/** Returns a page of the list of tools: five tools, beginning with the tool at `cursor`. */
export function listPage(host: McpHost, cursor: unknown): { tools: Tool[]; nextCursor?: string } {
  host.happenings.happen('list');
  const all = [...Object.keys(handlers).map(toTool), ...host.added];
  const from = Number(cursor ?? 0);
  return {
    tools: all.slice(from, from + 5),
    ...(from + 5 < all.length && { nextCursor: String(from + 5) }),
  };
}

export function handlerOf(host: McpHost, name: string): Handler {
  const added = host.added.some((tool) => tool.name === name);
  const handler = handlers[name] ?? (added ? () => text(`ran ${name}`) : undefined);
  if (!handler) throw new Error(`Unknown tool ${name}`);
  host.happenings.happen('call');
  return handler;
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
