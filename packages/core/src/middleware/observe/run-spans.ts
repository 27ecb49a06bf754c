import type { Context, Span } from '@opentelemetry/api';
import { AgentError } from '../../error/agent-error.ts';
import type { AgentResult } from '../../event/agent-result.ts';
import type { ToolResult, ToolUse } from '../../message/content-block.ts';
import type { Msg } from '../../message/msg.ts';
import type { RunContext } from '../../agent/run-context.ts';
import {
  argumentsText,
  inputMessages,
  outputMessages,
  resultText,
  runAttributes,
  toolAttributes,
  usageAttributes,
} from './gen-ai-attributes.ts';
import { failSpan, internalKind, openSpan, type OpenSpan, type Tracing } from './spans.ts';

/** The span of an agent call, and the open spans inside it. */
export class RunSpans implements OpenSpan {
  readonly span: Span;
  readonly inside: Context;
  readonly #tracing: Tracing;
  readonly #run: RunContext;
  /** Spans of the open model requests. The innermost span is last. */
  readonly #chats: OpenSpan[] = [];
  /** Spans of the open tool calls, by the id of the tool call. */
  readonly #tools: Map<string, OpenSpan> = new Map();

  /** Begins the span of the agent call. */
  constructor(tracing: Tracing, run: RunContext, input: readonly Msg[]) {
    this.#tracing = tracing;
    this.#run = run;
    const { model, agentPath } = run;
    const name = agentPath.at(-1) ?? '';
    const { span, inside } = openSpan(tracing, `invoke_agent ${name}`, {
      kind: internalKind,
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.provider.name': model.provider,
        'gen_ai.request.model': model.modelId,
        'gen_ai.agent.name': name,
        ...runAttributes(run),
        ...(tracing.content && { 'gen_ai.input.messages': inputMessages(input) }),
      },
      parent: tracing.api.context.active(),
      at: run.now(),
    });
    this.span = span;
    this.inside = inside;
  }

  /** The span of the innermost open model request, else of the agent call. */
  get innermost(): OpenSpan {
    return this.#chats.at(-1) ?? this;
  }

  now(): number {
    return this.#run.now();
  }

  beginChat(chat: OpenSpan): void {
    this.#chats.push(chat);
  }

  endChat(chat: OpenSpan): void {
    this.#chats.splice(this.#chats.indexOf(chat), 1);
  }

  beginTool(toolUse: ToolUse, at: number): OpenSpan {
    const opened = openSpan(this.#tracing, `execute_tool ${toolUse.name}`, {
      kind: internalKind,
      attributes: {
        ...toolAttributes(toolUse),
        ...runAttributes(this.#run),
        ...(this.#tracing.content && { 'gen_ai.tool.call.arguments': argumentsText(toolUse) }),
      },
      parent: this.inside,
      at,
    });
    this.#tools.set(toolUse.id, opened);
    return opened;
  }

  /** Returns the span of a tool call. Begins it if it is not open. */
  ofTool(toolUse: ToolUse): OpenSpan {
    return this.#tools.get(toolUse.id) ?? this.beginTool(toolUse, this.now());
  }

  endTool(id: string, result: ToolResult, at: number): void {
    const span = this.#tools.get(id)?.span;
    if (!span) return;
    this.#tools.delete(id);
    span.setAttributes({
      'isoloop.tool.state': result.state,
      ...(this.#tracing.content && {
        'gen_ai.tool.call.result': resultText({ content: [result] }),
      }),
    });
    if (result.state === 'error') failSpan(span, { code: 'TOOL_ERROR' });
    span.end(at);
  }

  /** Writes how the agent call ended. */
  result({ reason, error, usage, iterations, message }: AgentResult): void {
    this.span.setAttributes({
      ...usageAttributes(usage),
      'isoloop.reason': reason,
      'isoloop.iterations': iterations,
      ...(this.#tracing.content && {
        'gen_ai.output.messages': outputMessages(message.content, reason),
      }),
    });
    if (error) failSpan(this.span, error);
  }

  fail(thrown: unknown): void {
    failSpan(this.span, AgentError.from(thrown));
  }

  /** Ends the span and all open spans inside it. Tool calls that suspended still have open spans. */
  end(): void {
    const at = this.now();
    for (const { span } of [...this.#chats, ...this.#tools.values(), this]) span.end(at);
  }
}
