import type { RunContext } from '../../agent/middleware.ts';
import { setFields } from '../../message/json.ts';
import { AgentError } from '../../error/agent-error.ts';
import { maskSecrets } from '../../error/mask-secrets.ts';
import type { AgentResult } from '../../event/agent-result.ts';
import type { ToolResult, ToolUse, Msg } from '../../message/msg.ts';
import {
  argumentsText,
  inputMessages,
  outputMessages,
  requestAttributes,
  resultText,
  runAttributes,
  toolAttributes,
  usageAttributes,
} from './gen-ai-attributes.ts';
import type { ChatModel, ModelContext, ModelDelta, ModelRequest } from '../../model/chat-model.ts';
import { failureIn, watchReply } from '../../model/watch-reply.ts';
import { ReplyAssembler } from '../../model/reply-assembler.ts';
import type { Attributes, Context, ContextAPI, Span, TraceAPI, Tracer } from '@opentelemetry/api';

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
    span.setAttribute('isoloop.tool.state', result.state);
    if (this.#tracing.content)
      span.setAttribute('gen_ai.tool.call.result', resultText({ content: [result] }));
    if (result.state === 'error') failSpan(span, { code: 'TOOL_ERROR' });
    span.end(at);
  }

  /** Writes how the agent call ended. */
  result({ reason, error, usage, iterations, message }: AgentResult): void {
    this.span.setAttributes({
      ...usageAttributes(usage),
      'isoloop.reason': reason,
      'isoloop.iterations': iterations,
    });
    if (this.#tracing.content)
      this.span.setAttribute('gen_ai.output.messages', outputMessages(message.content, reason));
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

/** A model request. `spans` are those of its run, if the middleware knows the run. */
interface Chat {
  readonly model: ChatModel;
  readonly request: ModelRequest;
  readonly context: ModelContext;
  readonly spans: RunSpans | undefined;
}

/** Streams a reply and records a `chat` span for it. */
export async function* tracedReply(
  tracing: Tracing,
  { model, request, context, spans }: Chat,
): AsyncGenerator<readonly ModelDelta[], void> {
  const { content, api } = tracing;
  const opened = openSpan(tracing, `chat ${model.modelId}`, {
    kind: clientKind,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': model.provider,
      'gen_ai.request.model': model.modelId,
      ...(context.run && runAttributes(context.run)),
      ...requestAttributes(request),
      ...(content && { 'gen_ai.input.messages': inputMessages(request.messages) }),
    },
    parent: spans?.innermost.inside ?? api.context.active(),
    at: spans?.now(),
  });
  const { span, inside } = opened;
  spans?.beginChat(opened);
  const reply = new ReplyAssembler({ messageId: '', toolUseId: (id) => id || 'call_' });
  /** Model that was asked last. */
  let asked: Pick<ChatModel, 'provider' | 'modelId'> = model;
  const traced: ChatModel['stream'] = (...given) => {
    const deltas = api.context.with(inside, () => model.stream(...given));
    return within(api.context, inside, deltas[Symbol.asyncIterator]());
  };
  yield* watchReply({ stream: traced }, request, context, {
    asks: (next) => void (asked = next),
    add(deltas) {
      for (const delta of deltas) reply.add(delta);
    },
    end(end) {
      const failure = failureIn(end);
      if (failure) failSpan(span, failure);
      spans?.endChat(opened);
      const isOther = asked.modelId !== model.modelId;
      const answered = isOther ? { 'gen_ai.response.model': asked.modelId } : {};
      span.setAttribute('gen_ai.provider.name', asked.provider);
      span.setAttributes({ ...answered, ...replyAttributes(reply, content) });
      span.end(spans?.now());
    },
  });
}

function replyAttributes(reply: ReplyAssembler, hasContent: boolean): Attributes {
  const { finishReason, usage, metadata = {} } = reply;
  const { id, model } = metadata as { readonly id?: string; readonly model?: string };
  const content = reply.content({ partial: finishReason === undefined });
  const isSaid = hasContent && content.length > 0;
  return {
    ...(usage && usageAttributes(usage)),
    ...setFields({
      'gen_ai.response.model': model,
      'gen_ai.response.id': id,
      'gen_ai.response.finish_reasons': finishReason === undefined ? finishReason : [finishReason],
      'gen_ai.output.messages': isSaid
        ? outputMessages(content, finishReason ?? 'error')
        : undefined,
    }),
  };
}

/** How the spans are created, and whether they contain messages. */
interface Tracing {
  readonly api: { readonly trace: TraceAPI; readonly context: ContextAPI };
  readonly tracer: Tracer;
  readonly content: boolean;
}

interface OpenSpan {
  readonly span: Span;
  /** Context in which the span is active. */
  readonly inside: Context;
}

interface SpanOptions {
  readonly kind: number;
  readonly attributes: Attributes;
  readonly parent: Context;
  /** Start, in milliseconds since 1970. Default: the tracer's clock. */
  readonly at: number | undefined;
}

// Values of enums of `@opentelemetry/api`. A type import does not load them at run time.
const internalKind = 0;
const clientKind = 2;
const errorStatus = 2;

function openSpan(
  { api, tracer }: Tracing,
  name: string,
  { kind, attributes, parent, at: startTime }: SpanOptions,
): OpenSpan {
  const options = { kind, attributes, ...(startTime !== undefined && { startTime }) };
  const span = tracer.startSpan(name, options, parent);
  return { span, inside: api.trace.setSpan(parent, span) };
}

/** Marks a span as failed. Secrets in the message are masked. */
function failSpan(
  span: Span,
  { code, message }: { readonly code: string; readonly message?: string },
): void {
  span.setAttribute('error.type', code);
  const words = message === undefined ? {} : { message: maskSecrets(message) };
  span.setStatus({ code: errorStatus, ...words });
}

/**
 * Calls `next()` of an iterator in the given context, because a generator runs in the context of
 * its `next()` call.
 */
async function* within<T, R>(
  context: ContextAPI,
  inside: Context,
  steps: AsyncIterator<T, R>,
): AsyncGenerator<T, R> {
  let isOpen = true;
  try {
    for (;;) {
      isOpen = false;
      const step = await context.with(inside, () => steps.next());
      if (step.done) return step.value;
      isOpen = true;
      yield step.value;
    }
  } finally {
    if (isOpen) await context.with(inside, () => steps.return?.());
  }
}
