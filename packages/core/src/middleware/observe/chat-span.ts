import type { Attributes, Context, Span } from '@opentelemetry/api';
import { AgentError } from '../../error/agent-error.ts';
import type { ChatModel, ModelContext, ModelDelta, ModelRequest } from '../../model/chat-model.ts';
import { ReplyAssembler } from '../../model/reply-assembler.ts';
import {
  inputMessages,
  outputMessages,
  requestAttributes,
  runAttributes,
  usageAttributes,
} from './gen-ai-attributes.ts';
import type { RunSpans } from './run-spans.ts';
import { clientKind, failSpan, openSpan, within, type OpenSpan, type Tracing } from './spans.ts';

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
  chat: Chat,
): AsyncGenerator<readonly ModelDelta[], void> {
  const { model, request, context } = chat;
  const contexts = tracing.api.context;
  const span = new ChatSpan(tracing, chat);
  const end = (): void => span.end();
  const onModel: ModelContext['onModel'] = (next) => {
    span.asks(next);
    context.onModel?.(next);
  };
  // A model that ignores the signal may never end, so an abort ends the span.
  context.signal.addEventListener('abort', end);
  try {
    const deltas = contexts.with(span.inside, () => model.stream(request, { ...context, onModel }));
    for await (const batch of within(contexts, span.inside, deltas[Symbol.asyncIterator]())) {
      span.add(batch);
      yield batch;
    }
  } catch (error) {
    span.fail(error);
    throw error;
  } finally {
    end();
    context.signal.removeEventListener('abort', end);
  }
}

class ChatSpan implements OpenSpan {
  readonly span: Span;
  readonly inside: Context;
  readonly #tracing: Tracing;
  readonly #chat: Chat;
  readonly #reply = new ReplyAssembler({ messageId: '', toolUseId: (id) => id || 'call_' });
  /** Model that was asked last. */
  #asked: Pick<ChatModel, 'provider' | 'modelId'>;
  #isOpen = true;

  constructor(tracing: Tracing, chat: Chat) {
    this.#tracing = tracing;
    this.#chat = chat;
    const { model, request, context, spans } = chat;
    this.#asked = model;
    const { span, inside } = openSpan(tracing, `chat ${model.modelId}`, {
      kind: clientKind,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': model.provider,
        'gen_ai.request.model': model.modelId,
        ...(context.run && runAttributes(context.run)),
        ...requestAttributes(request),
        ...(tracing.content && { 'gen_ai.input.messages': inputMessages(request.messages) }),
      },
      parent: spans?.innermost.inside ?? tracing.api.context.active(),
      at: spans?.now(),
    });
    this.span = span;
    this.inside = inside;
    spans?.beginChat(this);
  }

  asks(model: Pick<ChatModel, 'provider' | 'modelId'>): void {
    this.#asked = model;
  }

  add(deltas: readonly ModelDelta[]): void {
    for (const delta of deltas) this.#reply.add(delta);
  }

  /** Marks the span as failed. After an abort, `end` does so with the reason of the abort. */
  fail(error: unknown): void {
    if (this.#isOpen && !this.#chat.context.signal.aborted)
      failSpan(this.span, AgentError.from(error));
  }

  /** Ends the span. Later calls do nothing. */
  end(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const { context, spans } = this.#chat;
    const { reason } = context.signal as { readonly reason: unknown };
    if (AgentError.is(reason) && reason.code !== 'ABORTED') failSpan(this.span, reason);
    spans?.endChat(this);
    this.span.setAttributes({ ...this.#answeredBy(), ...this.#said() });
    this.span.end(spans?.now());
  }

  #answeredBy(): Attributes {
    const { provider, modelId } = this.#asked;
    const { id, model } = (this.#reply.metadata ?? {}) as { id?: string; model?: string };
    const answered = model ?? (modelId === this.#chat.model.modelId ? undefined : modelId);
    return {
      'gen_ai.provider.name': provider,
      ...(answered !== undefined && { 'gen_ai.response.model': answered }),
      ...(id !== undefined && { 'gen_ai.response.id': id }),
    };
  }

  #said(): Attributes {
    const { finishReason, usage } = this.#reply;
    const content = this.#reply.content({ partial: finishReason === undefined });
    const hasContent = this.#tracing.content && content.length > 0;
    return {
      ...(usage && usageAttributes(usage)),
      ...(finishReason !== undefined && { 'gen_ai.response.finish_reasons': [finishReason] }),
      ...(hasContent && {
        'gen_ai.output.messages': outputMessages(content, finishReason ?? 'error'),
      }),
    };
  }
}
