import type { IncomingMessage, ServerResponse } from 'node:http';

/** The parts of a chat-completions request that the server reads. */
export interface ChatRequest {
  readonly model?: string;
  readonly stream?: boolean;
  readonly messages?: readonly {
    readonly role: string;
    readonly content?: unknown;
    readonly tool_call_id?: string;
  }[];
  readonly tools?: readonly {
    readonly function: { readonly name: string; readonly parameters?: unknown };
  }[];
  /** Steps for `/scripted`. See `scripted.ts`. */
  readonly script?: unknown;
}

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /**
   * Path segments between the route's name and `v1`: `['cut']` in
   * `/fault/cut/v1/chat/completions`.
   */
  readonly parameters: readonly string[];
  readonly body: ChatRequest;
}

export type Handler = (exchange: Exchange) => void | Promise<void>;

export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** Sends an error body in OpenAI's format. */
export function sendError(
  response: ServerResponse,
  status: number,
  error: { readonly message: string; readonly type?: string; readonly code?: string },
  headers?: Record<string, string>,
): void {
  sendJson(
    response,
    status,
    { error: { type: 'invalid_request_error', param: null, code: null, ...error } },
    headers,
  );
}
