import type { RunView } from '../agent/middleware.ts';
import { omitUndefined } from '../message/json.ts';
import { AgentError } from '../error/agent-error.ts';
import { maskSecrets } from '../error/mask-secrets.ts';
import type { AgentResult } from '../event/agent-result.ts';
import type { ToolResult, ToolUse, Msg } from '../message/msg.ts';
import {
  inputMessages,
  outputMessages,
  requestAttributes,
  resultText,
  runAttributes,
  toolAttributes,
  usageAttributes,
} from './gen-ai-attributes.ts';
import type { ChatModel, ModelContext, ModelDelta, ModelRequest } from '../model/chat-model.ts';
import { replyFailure, watchReply } from '../model/reply/watch-reply.ts';
import { ReplyAssembler } from '../model/reply/reply-assembler.ts';
import type { Attributes, Context, ContextAPI, Span, SpanOptions } from '@opentelemetry/api';
import type { OpenTelemetryOptions } from './open-telemetry.ts';

/** The span of an agent call, and the open spans inside it. */
export class RunSpans implements OpenSpan {
  readonly span: Span;
  readonly spanContext: Context;
  readonly run: RunView;
  /** Spans of the open model requests. The innermost span is last. */
  readonly chats: Set<OpenSpan> = new Set();
  readonly #tracing: Tracing;
  /** Begin of the run, as a date and by the clock for durations. */
  readonly #begin: { readonly date: number; readonly at: number };
  /** Spans of the open tool calls, by the id of the tool call. */
  readonly #tools: Map<string, OpenSpan> = new Map();

  /** Begins the span of the agent call. */
  constructor(tracing: Tracing, run: RunView, input: readonly Msg[]) {
    this.#tracing = tracing;
    this.run = run;
    this.#begin = { date: run.now(), at: run.monotonicNow() };
    const { model, agentPath } = run;
    const name = agentPath.at(-1) ?? '';
    const parent = tracing.api.context.active();
    const { span, spanContext } = openSpan(tracing, parent, 'invoke_agent', name, {
      attributes: {
        ...modelAttributes(model, input, tracing),
        'gen_ai.agent.name': name,
        ...runAttributes(run),
      },
      startTime: this.#begin.date,
    });
    this.span = span;
    this.spanContext = spanContext;
  }

  /**
   * Returns the time for a begin or an end, in milliseconds since 1970. It advances with the clock
   * for durations, so that no span ends before it begins if the date is set back.
   */
  now(): number {
    return this.#begin.date + this.run.monotonicNow() - this.#begin.at;
  }

  /** The span of the innermost open model request, else of the agent call. */
  get innermost(): OpenSpan {
    return [...this.chats].at(-1) ?? this;
  }

  beginTool(toolUse: ToolUse): OpenSpan {
    const tool = toolAttributes(toolUse, this.#tracing.content);
    const attributes = { ...tool, ...runAttributes(this.run) };
    const options = { attributes, startTime: this.now() };
    const toolSpan = openSpan(
      this.#tracing,
      this.spanContext,
      'execute_tool',
      toolUse.name,
      options,
    );
    this.#tools.set(toolUse.id, toolSpan);
    return toolSpan;
  }

  /** Returns the span of a tool call. Begins it if it is not open. */
  ofTool(toolUse: ToolUse): OpenSpan {
    return this.#tools.get(toolUse.id) ?? this.beginTool(toolUse);
  }

  endTool(id: string, result: ToolResult): void {
    const span = this.#tools.get(id)?.span;
    if (!span) return;
    this.#tools.delete(id);
    span.setAttribute('isoloop.tool.state', result.state);
    if (this.#tracing.content) span.setAttribute('gen_ai.tool.call.result', resultText(result));
    if (result.state === 'error') failSpan(span, { code: 'TOOL_ERROR' });
    span.end(this.now());
  }

  /** Writes how the agent call ended. */
  result({ reason, incomplete, error, usage, iterations, message }: AgentResult): void {
    this.span.setAttributes({
      ...usageAttributes(usage),
      'isoloop.reason': reason,
      ...(incomplete && { 'isoloop.incomplete': incomplete }),
      'isoloop.iterations': iterations,
    });
    if (this.#tracing.content)
      this.span.setAttribute('gen_ai.output.messages', outputMessages(message.content, reason));
    if (error) failSpan(this.span, error);
  }

  fail(thrown: unknown): void {
    failSpan(this.span, AgentError.from(thrown));
  }

  /**
   * Ends the span and all open spans inside it. Tool calls that suspended still have open spans.
   */
  end(): void {
    const at = this.now();
    for (const { span } of [...this.chats, ...this.#tools.values(), this]) span.end(at);
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
  const parent = spans?.innermost.spanContext ?? api.context.active();
  const chatSpan = openSpan(tracing, parent, 'chat', model.modelId, {
    kind: clientKind,
    attributes: {
      ...modelAttributes(model, request.messages, tracing),
      ...(context.run && runAttributes(context.run)),
      ...requestAttributes(request),
    },
    ...(spans && { startTime: spans.now() }),
  });
  const { span, spanContext } = chatSpan;
  spans?.chats.add(chatSpan);
  const reply = new ReplyAssembler({ messageId: '', toolUseId: (id) => id || 'call_' });
  /** Model that was asked last. */
  let lastModel: Pick<ChatModel, 'provider' | 'modelId'> = model;
  const tracedStream: ChatModel['stream'] = (...args) => {
    const deltas = api.context.with(spanContext, () => model.stream(...args));
    return iterateIn(api.context, spanContext, deltas);
  };
  yield* watchReply({ stream: tracedStream }, request, context, {
    asks: (next) => void (lastModel = next),
    add(deltas) {
      for (const delta of deltas) reply.add(delta);
    },
    end(end) {
      const failure = replyFailure(end);
      if (failure) failSpan(span, failure);
      spans?.chats.delete(chatSpan);
      const isOther = lastModel.modelId !== model.modelId;
      const answered = isOther ? { 'gen_ai.response.model': lastModel.modelId } : {};
      span.setAttribute('gen_ai.provider.name', lastModel.provider);
      span.setAttributes({ ...answered, ...replyAttributes(reply, content) });
      span.end(spans?.now());
    },
  });
}

function replyAttributes(reply: ReplyAssembler, hasContent: boolean): Attributes {
  const { finishReason, usage, metadata = {} } = reply;
  const { id, model } = metadata as { readonly id?: string; readonly model?: string };
  const content = reply.content({ partial: finishReason === undefined });
  const hasOutput = hasContent && content.length > 0;
  const messages = hasOutput ? outputMessages(content, finishReason ?? 'error') : undefined;
  const reasons = finishReason === undefined ? undefined : [finishReason];
  return {
    ...(usage && usageAttributes(usage)),
    ...omitUndefined({
      'gen_ai.response.model': model,
      'gen_ai.response.id': id,
      'gen_ai.response.finish_reasons': reasons,
      'gen_ai.output.messages': messages,
    }),
  };
}

/** How the spans are created, and whether they contain messages. */
type Tracing = Required<OpenTelemetryOptions>;

interface OpenSpan {
  readonly span: Span;
  /** Context in which the span is active. */
  readonly spanContext: Context;
}

// Values of enums of `@opentelemetry/api`. A type import does not load them at run time.
const clientKind = 2;
const errorStatus = 2;

/** Begins the span of an operation on a target, such as a tool. */
function openSpan(
  { api, tracer }: Tracing,
  parent: Context,
  operation: string,
  target: string,
  options: SpanOptions,
): OpenSpan {
  const attributes = { 'gen_ai.operation.name': operation, ...options.attributes };
  const span = tracer.startSpan(`${operation} ${target}`, { ...options, attributes }, parent);
  return { span, spanContext: api.trace.setSpan(parent, span) };
}

function modelAttributes(
  { provider, modelId }: RunView['model'],
  input: readonly Msg[],
  { content }: Tracing,
): Attributes {
  return {
    'gen_ai.provider.name': provider,
    'gen_ai.request.model': modelId,
    ...(content && { 'gen_ai.input.messages': inputMessages(input) }),
  };
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

/** Iterates in the given context, because a generator runs in the context of its `next()` call. */
function iterateIn<T>(
  context: ContextAPI,
  spanContext: Context,
  iterable: AsyncIterable<T>,
): AsyncIterable<T> {
  const steps = iterable[Symbol.asyncIterator]();
  const end = (): Promise<IteratorResult<T>> => context.with(spanContext, () => steps.return!());
  const iterator = {
    next: () => context.with(spanContext, () => steps.next()),
    ...(steps.return && { return: end }),
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
