import type { CallToolResult, Progress } from '@modelcontextprotocol/client';
import {
  AgentError,
  errorText,
  type Decision,
  type JsonObject,
  type ContentBlock,
  type MediaBlock,
  type ToolContext,
  type ToolOutput,
} from '@isoloop/core';
import { omitUndefined, startOfTexts } from '@isoloop/core/message';
import { isSessionDoubtful, isSessionUnknown, toMcpError } from './mcp-error.ts';
import type { McpToolsOptions } from './mcp-options.ts';
import {
  questionDetails,
  questionsInError,
  questionText,
  toAnswers,
  type McpQuestionDetails,
  type McpReply,
} from './mcp-question.ts';
import type { McpCall, McpSession } from './mcp-session.ts';

/** What the calls of a server's tools need from the connection. */
export interface McpServer {
  readonly name: string;
  readonly options: McpToolsOptions;
  /** Returns the session of the server. Connects first if the server has no session yet. */
  session(signal: AbortSignal): Promise<McpSession>;
  /** Called when the server no longer knows the session. */
  lose(session: McpSession): void;
}

/** Calls a tool of a server. A question of the server suspends the tool call. */
export async function callServerTool(
  server: McpServer,
  call: McpCall,
  context: ToolContext,
): Promise<ToolOutput> {
  const { maxOutputChars = 50_000 } = server.options;
  const { decision, waitedFor } = context;
  const questions = questionDetails(waitedFor);
  // Something other than the server suspended the tool call.
  if (waitedFor?.kind === 'suspended' && !questions && /result|reject/.test(decision?.type ?? ''))
    return outputOf(decision!);
  let answered = call;
  if (decision && questions) answered = await withAnswers(call, questions, decision, context);
  const reply = await send(server, answered, context);
  if ('result' in reply) return toToolOutput(reply.result, maxOutputChars);
  return context.suspend(questionText(reply.questions), { ...reply } as unknown as JsonObject);
}

/**
 * Sends the tool call. If the server does not know the session, the tool call did not run, so it is
 * sent again in a new session. If that is not certain, only the next tool call gets a new session.
 */
async function send(
  server: McpServer,
  call: McpCall,
  context: ToolContext,
  isAgain = false,
): Promise<McpReply> {
  const { signal } = context;
  const session = await server.session(signal);
  try {
    return await session.call(call, signal, progressOf(context));
  } catch (error) {
    if (signal.aborted) throw AgentError.from(signal.reason, 'ABORTED');
    const questions = questionsInError(error);
    if (questions) return questions;
    const isUnknown = isSessionUnknown(error);
    if (!isAgain && (isUnknown || isSessionDoubtful(error))) server.lose(session);
    if (isAgain || !isUnknown) throw toMcpError(error, server.name);
    return send(server, call, context, true);
  }
}

/** Returns the tool call to send after a person has decided. Suspends again without an answer. */
async function withAnswers(
  call: McpCall,
  { questions, next, requestState }: McpQuestionDetails,
  decision: Decision,
  context: ToolContext,
): Promise<McpCall> {
  const inputResponses = await toAnswers(questions, decision).catch((error: unknown) =>
    context.suspend(`${errorText(error)}\n${questionText(questions)}`, context.waitedFor?.details),
  );
  if (next === 'retry') return { ...call, inputResponses, ...omitUndefined({ requestState }) };
  if (Object.values(inputResponses).some(({ action }) => action !== 'accept'))
    throw new Error('The user declined what the server asks for.');
  return call;
}

/** Returns the output of a decision about a tool call that no question of the server suspended. */
function outputOf(decision: Decision): ToolOutput {
  if (decision.type === 'result') {
    const { output } = decision;
    return typeof output === 'string' ? output : { content: output };
  }
  const { reason = 'no reason given' } = decision.type === 'reject' ? decision : {};
  throw new Error(`Tool call rejected: ${reason}`);
}

function progressOf({ emit }: ToolContext): (progress: Progress) => void {
  return ({ progress, total, message }) => emit(omitUndefined({ progress, total, message }));
}

type McpContent = CallToolResult['content'][number];

/**
 * Converts the result of an MCP tool to a tool output. Text stays text. Media and binary resources
 * become blocks of their kind, and links become text. Text after the first `maxChars` characters is
 * shortened, and a note says so. If the tool reports a failure, throws an error with the tool's own
 * text.
 */
function toToolOutput(
  { content, structuredContent, isError }: CallToolResult,
  maxChars: number,
): ToolOutput {
  const isBlank = content.every((each) => each.type === 'text' && !each.text.trim());
  const allBlocks =
    isBlank && structuredContent
      ? [textBlock(JSON.stringify(structuredContent))]
      : content.map(toBlock);
  const blocks = shorten(allBlocks, maxChars);
  const texts = blocks.flatMap((block) => (block.type === 'text' ? block.text : []));
  if (isError)
    throw new Error(
      texts.join('\n').replace(/^Error: /, '') || 'The tool failed and did not say why.',
    );
  return texts.length === blocks.length ? texts.join('\n') : { content: blocks };
}

function toBlock(content: McpContent): ContentBlock {
  switch (content.type) {
    case 'text':
      return textBlock(content.text);
    case 'image':
    case 'audio':
      return mediaBlock(content.type, content.mimeType, content.data);
    case 'resource': {
      const { resource } = content;
      if ('text' in resource) return textBlock(resource.text);
      const mediaType = resource.mimeType ?? 'application/octet-stream';
      return mediaBlock(kindOf(mediaType), mediaType, resource.blob, resource.uri);
    }
    case 'resource_link': {
      const note = [content.mimeType, content.description].filter(Boolean).join(', ');
      return textBlock(`${content.name}: ${content.uri}${note && ` (${note})`}`);
    }
  }
}

function kindOf(mediaType: string): MediaBlock['type'] {
  const kind = mediaType.split('/', 1)[0];
  return kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'file';
}

function textBlock(text: string): ContentBlock {
  return { type: 'text', text };
}

function mediaBlock(
  type: MediaBlock['type'],
  mediaType: string,
  data: string,
  name?: string,
): ContentBlock {
  return { type, source: { type: 'base64', mediaType, data }, ...(name && { name }) };
}

/**
 * Shortens the text of blocks to `maxChars` characters. Media does not count, because its cost does
 * not depend on characters.
 */
function shorten(blocks: readonly ContentBlock[], maxChars: number): readonly ContentBlock[] {
  const lengths = blocks.map((block) => (block.type === 'text' ? block.text.length : 0));
  const total = lengths.reduce((sum, length) => sum + length, 0);
  if (total <= maxChars) return blocks;
  const note = textBlock(`[shortened: ${maxChars} of ${total} characters]`);
  return [...startOfTexts(blocks, maxChars), note];
}
