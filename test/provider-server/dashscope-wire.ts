import type { ServerResponse } from 'node:http';
import { sendJson } from './exchange.ts';

export type Service = 'text' | 'multimodal';

export interface DashScopeMessage {
  readonly role?: string;
  readonly content?: unknown;
  readonly tool_call_id?: string;
}

/** The parts of a DashScope request that the server reads. */
export interface DashScopeRequest {
  readonly model?: string;
  readonly input?: { readonly messages?: readonly DashScopeMessage[] };
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/**
 * A piece of a reply. The text service sends `text` as a string, the multimodal service as an array
 * of parts.
 */
export interface Piece {
  readonly text?: string;
  readonly thinking?: string;
  readonly calls?: readonly unknown[];
}

const requestId = '7a1f5c0e-0000-9000-8000-c0ffee000001';

/**
 * Formats an event as DashScope does: with an id, a name and the HTTP status as a comment, and
 * without spaces after the colons.
 */
export function dashScopeEvent(id: number, data: unknown, name = 'result', status = 200): string {
  return `id:${id}\nevent:${name}\n:HTTP_STATUS/${status}\ndata:${JSON.stringify(data)}\n\n`;
}

export function dashScopeChunk(
  service: Service,
  piece: Piece,
  finishReason: string,
  outputTokens: number,
): Record<string, unknown> {
  const { text = '', thinking, calls } = piece;
  const message = {
    role: 'assistant',
    content: service === 'text' ? text : text === '' ? [] : [{ text }],
    ...(thinking === undefined ? {} : { reasoning_content: thinking }),
    ...(calls ? { tool_calls: calls } : {}),
  };
  return {
    output: { choices: [{ message, finish_reason: finishReason }] },
    usage: {
      input_tokens: 20,
      output_tokens: outputTokens,
      total_tokens: 20 + outputTokens,
      output_tokens_details: { reasoning_tokens: thinking === undefined ? 0 : 1 },
      ...(service === 'text'
        ? { prompt_tokens_details: { cached_tokens: 8 } }
        : { input_tokens_details: { cached_tokens: 8 } }),
    },
    request_id: requestId,
  };
}

/**
 * Formats a whole reply as events. Until the last event, the finish reason is the string `null`.
 * The usage grows from event to event.
 */
export function dashScopeEvents(
  service: Service,
  pieces: readonly Piece[],
  finishReason: string,
): string[] {
  const chunks = pieces.map((piece, index) => dashScopeChunk(service, piece, 'null', index + 1));
  return [...chunks, dashScopeChunk(service, {}, finishReason, pieces.length)].map((data, index) =>
    dashScopeEvent(index + 1, data),
  );
}

export function dashScopeErrorEvent(
  id: number,
  status: number,
  code: string,
  message: string,
): string {
  return dashScopeEvent(id, { code, message, request_id: requestId }, 'error', status);
}

export function sendDashScopeError(
  response: ServerResponse,
  status: number,
  code: string,
  message: string,
): void {
  sendJson(response, status, { code, message, request_id: requestId });
}
