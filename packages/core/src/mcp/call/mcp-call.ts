import type { CallToolResult, Client, Progress } from '@modelcontextprotocol/client';
import { AgentError } from '../../error/agent-error.ts';
import { isRecord } from '../../message/json/is-record.ts';
import type { JsonObject } from '../../message/json/json.ts';
import { longestTimeout, wait } from '../../model/timer.ts';
import { toQuestion, type McpAnswers, type McpQuestions, type McpReply } from './mcp-question.ts';

export interface McpCall {
  readonly name: string;
  readonly arguments: JsonObject;
  /** Answers to the questions of an earlier reply to the same tool call. */
  readonly inputResponses?: McpAnswers;
  /** The server's state from that reply. */
  readonly requestState?: string;
}

export interface McpCallOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
}

/** Milliseconds before a tool call is sent again to a server that only asks to come back later. */
const laterMs = 250;
const mostRounds = 10;

/**
 * Calls a tool of a server of revision 2026-07-28. Instead of keeping the tool call open, such a
 * server ends it with questions. The client then sends it again with the answers.
 */
export async function callTool(
  client: Client,
  call: McpCall,
  { signal, onProgress }: McpCallOptions,
): Promise<McpReply> {
  const options = { signal, timeout: longestTimeout, onprogress: onProgress };
  let params = call;
  for (let round = 1; round <= mostRounds; round += 1) {
    // The SDK's type does not have the answers and the state.
    const sent = params as unknown as Parameters<Client['callTool']>[0];
    const result: unknown = await client.callTool(sent, { ...options, allowInputRequired: true });
    const { resultType, inputRequests, requestState } = Object(result) as JsonObject;
    if (resultType !== 'input_required') return { result: result as CallToolResult };
    const state = typeof requestState === 'string' && { requestState };
    if (isRecord(inputRequests) && Object.keys(inputRequests).length > 0)
      return { questions: toQuestions(inputRequests), next: 'retry', ...state };
    await wait(laterMs, signal);
    params = { name: call.name, arguments: call.arguments, ...state };
  }
  throw new AgentError('MCP_BAD_RESPONSE', `"${call.name}" always asks to be called again.`);
}

function toQuestions(requests: object): McpQuestions {
  const entries = Object.entries(requests).map(([key, request]) => {
    const { method, params } = Object(request) as JsonObject;
    const question = method === 'elicitation/create' ? toQuestion(params) : undefined;
    if (question) return [key, question] as const;
    const what = 'The MCP server sent a request that this client does not answer';
    const text = String(JSON.stringify(request)).slice(0, 200);
    throw new AgentError('MCP_BAD_RESPONSE', `${what}: ${text}`);
  });
  return Object.fromEntries(entries);
}

/**
 * Returns the questions of an error by which a server of revision 2025-11-25 asks a person to visit
 * pages before the tool call is repeated.
 */
export function questionsInError(error: unknown): McpReply | undefined {
  const { code, data } = Object(error) as { readonly code?: unknown; readonly data?: unknown };
  const asked: unknown = Object(data).elicitations;
  if (code !== -32_042 || !Array.isArray(asked) || !asked.length) return undefined;
  const entries = asked.map((each, index) => [String(index), toQuestion(each)] as const);
  if (entries.some(([, question]) => !question)) return undefined;
  return { questions: Object.fromEntries(entries) as McpQuestions, next: 'repeat' };
}
