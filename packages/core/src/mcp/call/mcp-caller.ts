import type { Progress } from '@modelcontextprotocol/client';
import { AgentError, messageOf } from '../../error/agent-error.ts';
import type { Decision } from '../../event/pending-call.ts';
import type { JsonObject } from '../../message/json/json.ts';
import type { ToolContext, ToolOutput } from '../../tool/tool.ts';
import { isSessionUnknown, toMcpError } from '../mcp-error.ts';
import type { McpToolsOptions } from '../mcp-options.ts';
import {
  questionDetails,
  questionsInError,
  questionText,
  toAnswers,
  type McpAnswers,
  type McpQuestionDetails,
  type McpReply,
} from './mcp-question.ts';
import { toToolOutput } from './mcp-result.ts';
import type { McpCall, McpSession } from '../mcp-session.ts';
import type { OpenCall } from './open-call.ts';

/** What the calls of a server's tools need from the connection. */
export interface McpConnection {
  readonly name: string;
  readonly options: McpToolsOptions;
  /** Returns the session. Connects if there is none. */
  session(signal: AbortSignal): Promise<McpSession>;
  /** Called when the server no longer knows the session. */
  lose(session: McpSession): void;
}

/** Calls the tools of a server. A question of the server suspends the tool call. */
export class McpCaller {
  readonly #connection: McpConnection;
  /** Tool calls that a server keeps open while a person answers, by their idempotency keys. */
  readonly #held = new Map<string, OpenCall>();

  constructor(connection: McpConnection) {
    this.#connection = connection;
  }

  async call(call: McpCall, context: ToolContext): Promise<ToolOutput> {
    const { maxOutputChars = 50_000 } = this.#connection.options;
    const { decision, pending } = context;
    const asked = questionDetails(pending);
    // Something other than the server suspended the tool call.
    if (pending?.kind === 'suspended' && !asked && /result|reject/.test(decision?.type ?? ''))
      return outputOf(decision!);
    const reply =
      decision && asked
        ? await this.#continue(call, asked, decision, context)
        : await this.#begin(call, context);
    if ('result' in reply) return toToolOutput(reply.result, maxOutputChars);
    return context.suspend(questionText(reply.questions), { ...reply } as unknown as JsonObject);
  }

  async #continue(
    call: McpCall,
    asked: McpQuestionDetails,
    decision: Decision,
    context: ToolContext,
  ): Promise<McpReply> {
    const { questions, next, requestState } = asked;
    const answers = await toAnswers(questions, decision).catch((error: unknown) =>
      context.suspend(`${messageOf(error)}\n${questionText(questions)}`, context.pending?.details),
    );
    if (next === 'held') return this.#answer(call, asked, answers, context);
    if (next === 'retry') {
      const state = requestState !== undefined && { requestState };
      return this.#begin({ ...call, inputResponses: answers, ...state }, context);
    }
    if (Object.values(answers).some(({ action }) => action !== 'accept'))
      throw new Error('The user declined what the server asks for.');
    return this.#begin(call, context);
  }

  /** Answers the question of a server that keeps the tool call open. */
  async #answer(
    call: McpCall,
    { questions }: McpQuestionDetails,
    answers: McpAnswers,
    context: ToolContext,
  ): Promise<McpReply> {
    const key = context.idempotencyKey;
    if (!this.#held.has(key)) {
      // The server forgot the tool call. If it may run again, the server asks again.
      if (this.#connection.options.replay !== 'safe') throw this.#lost();
      const again = await this.#begin(call, context);
      if ('result' in again || again.next !== 'held') return again;
    }
    const open = this.#held.get(key)!;
    for (const [name, question] of Object.entries(questions)) open.answer(question, answers[name]);
    try {
      return await this.#next(open, context);
    } catch (error) {
      context.signal.throwIfAborted();
      throw toMcpError(error, this.#connection.name);
    }
  }

  /**
   * Sends the tool call and waits for its result or a question. If the server does not know the
   * session, the tool call did not run, so it is sent again in a new session.
   */
  async #begin(call: McpCall, context: ToolContext, isAgain = false): Promise<McpReply> {
    const { name, session: connect, lose } = this.#connection;
    const { signal } = context;
    const session = await connect(signal);
    if (call.inputResponses && !session.takesAnswers) throw this.#lost();
    try {
      if (!session.takesAnswers) return await this.#next(session.openCall(call), context);
      return await session.call(call, { signal, onProgress: progressOf(context) });
    } catch (error) {
      if (signal.aborted) throw AgentError.from(signal.reason, 'ABORTED');
      const asked = questionsInError(error);
      if (asked) return asked;
      if (isAgain || !isSessionUnknown(error)) throw toMcpError(error, name);
      lose(session);
      return this.#begin(call, context, true);
    }
  }

  async #next(open: OpenCall, context: ToolContext): Promise<McpReply> {
    const key = context.idempotencyKey;
    this.#held.delete(key);
    const reply = await open.next(context.signal, progressOf(context));
    if (!('result' in reply)) this.#held.set(key, open);
    return reply;
  }

  #lost(): AgentError {
    const server = `The MCP server "${this.#connection.name}"`;
    const message = `${server} no longer waits for the answer. The tool call may have run in part.`;
    return new AgentError('MCP_UNREACHABLE', message);
  }
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
  return ({ progress, total, message }) =>
    emit({
      progress,
      ...(total !== undefined && { total }),
      ...(message !== undefined && { message }),
    });
}
