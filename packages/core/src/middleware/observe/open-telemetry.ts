import type { Context, ContextAPI, Span, TraceAPI, Tracer } from '@opentelemetry/api';
import { AgentError } from '../../error/agent-error.ts';
import { checkFields, checkOptions } from '../../error/check-fields.ts';
import { maskSecrets } from '../../error/mask-secrets.ts';
import type { ToolResult, ToolUse } from '../../message/content-block.ts';
import type { ChatModel, ModelContext, ModelDelta, ModelRequest } from '../../model/chat-model.ts';
import { withStream, type ModelMiddleware } from '../../model/wrap-model.ts';
import type { AgentResult } from '../../event/agent-result.ts';
import type { Middleware } from '../../agent/middleware.ts';
import {
  argumentsText,
  errorAttributes,
  inputMessages,
  outputMessages,
  requestAttributes,
  resultText,
  runAttributes,
  toolAttributes,
  usageAttributes,
} from './gen-ai-attributes.ts';
import { ReplyAssembler } from '../../model/reply-assembler.ts';
import type { RunContext } from '../../agent/run-context.ts';

export interface OpenTelemetryOptions {
  /** Exports of `@opentelemetry/api`: `import { context, trace } from '@opentelemetry/api'`. */
  readonly api: { readonly trace: TraceAPI; readonly context: ContextAPI };
  /** Tracer that creates the spans. Default: the API's tracer with the name `isoloop`. */
  readonly tracer?: Tracer;
  /**
   * Whether spans contain messages, replies, and the arguments and results of tools. Secrets in
   * tool arguments are masked, and media contain no data. Default false.
   */
  readonly content?: boolean;
}

interface OpenSpan {
  readonly span: Span;
  /** Context in which the span is active. */
  readonly inside: Context;
}

/** Open spans of a run. `span` and `inside` belong to the run's own span. */
interface RunSpans extends OpenSpan {
  readonly run: RunContext;
  /** Spans of the open model requests. The innermost span is last. */
  readonly chats: OpenSpan[];
  /** Spans of the open tool calls, by the id of the tool call. */
  readonly tools: Map<string, OpenSpan>;
}

// Values of enums of `@opentelemetry/api`. A type import does not load them at run time.
const internalKind = 0;
const clientKind = 2;
const errorStatus = 2;

/**
 * Records spans by OpenTelemetry's conventions for generative AI. An `invoke_agent` span covers an
 * agent call. A `chat` span covers a model request, also one for a summary. An `execute_tool` span
 * covers a tool call. The parent of an `invoke_agent` span is the span that is active when the
 * agent call begins. All other spans are inside the span of their agent call. If the API has a
 * context manager, the span is active while its model, tool or agent runs.
 *
 * Several agents can share one middleware. If it is first in the `use` list, a `chat` span covers a
 * request together with its retries and fallback models. If it is last in the list, a `chat` span
 * covers one try. Use its `wrapModel` to trace a fallback model. Throws `CONFIGURATION` for an
 * option of the wrong kind.
 */
export function openTelemetry(given: OpenTelemetryOptions): Middleware & ModelMiddleware {
  checkOptions(
    'CONFIGURATION',
    'openTelemetry()',
    given,
    'api:object tracer:startSpan()|? content:boolean|?',
  );
  checkFields('CONFIGURATION', 'openTelemetry(): api', given.api, 'trace:setSpan() context:with()');
  const { api, tracer = api.trace.getTracer('isoloop'), content = false } = given;
  const runs = new Map<string, RunSpans>();

  const open = (
    name: string,
    kind: number,
    attributes: object,
    parent: Context,
    startTime: number | undefined,
  ): OpenSpan => {
    const span = tracer.startSpan(
      name,
      { kind, attributes: { ...attributes }, ...(startTime !== undefined && { startTime }) },
      parent,
    );
    return { span, inside: api.trace.setSpan(parent, span) };
  };

  const beginRun = (run: RunContext, input: Parameters<typeof inputMessages>[0]): RunSpans => {
    const { model } = run;
    const name = run.agentPath.at(-1) ?? '';
    const attributes = {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.provider.name': model.provider,
      'gen_ai.request.model': model.modelId,
      'gen_ai.agent.name': name,
      ...runAttributes(run),
      ...(content && { 'gen_ai.input.messages': inputMessages(input) }),
    };
    const active = api.context.active();
    const opened = open(`invoke_agent ${name}`, internalKind, attributes, active, run.now());
    return { ...opened, run, chats: [], tools: new Map() };
  };

  const beginTool = ({ run, inside, tools }: RunSpans, toolUse: ToolUse, at: number): OpenSpan => {
    const attributes = {
      ...toolAttributes(toolUse),
      ...runAttributes(run),
      ...(content && { 'gen_ai.tool.call.arguments': argumentsText(toolUse) }),
    };
    const opened = open(`execute_tool ${toolUse.name}`, internalKind, attributes, inside, at);
    tools.set(toolUse.id, opened);
    return opened;
  };

  const endTool = ({ tools }: RunSpans, id: string, result: ToolResult, at: number): void => {
    const span = tools.get(id)?.span;
    tools.delete(id);
    span?.setAttributes({
      'isoloop.tool.state': result.state,
      ...(content && { 'gen_ai.tool.call.result': resultText({ content: [result] }) }),
    });
    if (result.state === 'error') fail(span, 'TOOL_ERROR');
    span?.end(at);
  };

  async function* chat(
    model: ChatModel,
    request: ModelRequest,
    context: ModelContext,
  ): AsyncGenerator<readonly ModelDelta[], void> {
    const spans = runs.get(context.run?.runId ?? '');
    const attributes = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': model.provider,
      'gen_ai.request.model': model.modelId,
      ...(context.run && runAttributes(context.run)),
      ...requestAttributes(request),
      ...(content && { 'gen_ai.input.messages': inputMessages(request.messages) }),
    };
    const parent = (spans?.chats.at(-1) ?? spans)?.inside ?? api.context.active();
    const opened = open(`chat ${model.modelId}`, clientKind, attributes, parent, spans?.run.now());
    spans?.chats.push(opened);
    const { span, inside } = opened;
    const reply = new ReplyAssembler({
      messageId: '',
      toolUseId: (id) => id || 'call_',
    });
    let asked: Pick<ChatModel, 'provider' | 'modelId'> = model;
    const onModel: ModelContext['onModel'] = (next) => {
      asked = next;
      context.onModel?.(next);
    };
    let isOpen = true;
    const end = (): void => {
      if (!isOpen) return;
      isOpen = false;
      const { reason } = context.signal as { readonly reason: unknown };
      if (AgentError.is(reason) && reason.code !== 'ABORTED') fail(span, reason);
      spans?.chats.splice(spans.chats.indexOf(opened), 1);
      const { finishReason, usage, metadata = {} } = reply;
      const said = reply.content({ partial: finishReason === undefined });
      const { id, model: answered = asked.modelId === model.modelId ? undefined : asked.modelId } =
        metadata as {
          id?: string;
          model?: string;
        };
      span.setAttributes({
        'gen_ai.provider.name': asked.provider,
        ...(answered !== undefined && { 'gen_ai.response.model': answered }),
        ...(id !== undefined && { 'gen_ai.response.id': id }),
        ...(usage && usageAttributes(usage)),
        ...(finishReason !== undefined && { 'gen_ai.response.finish_reasons': [finishReason] }),
        ...(content &&
          said.length && {
            'gen_ai.output.messages': outputMessages(said, finishReason ?? 'error'),
          }),
      });
      span.end(spans?.run.now());
    };
    // A model that ignores the signal may never end, so an abort ends the span.
    context.signal.addEventListener('abort', end);
    try {
      const deltas = api.context.with(inside, () => model.stream(request, { ...context, onModel }));
      for await (const batch of within(inside, deltas[Symbol.asyncIterator]())) {
        for (const delta of batch) reply.add(delta);
        yield batch;
      }
    } catch (error) {
      if (isOpen && !context.signal.aborted) fail(span, AgentError.from(error));
      throw error;
    } finally {
      end();
      context.signal.removeEventListener('abort', end);
    }
  }

  /**
   * Calls `next()` of an iterator in the given context, because a generator runs in the context of
   * its `next()` call.
   */
  async function* within<T, R>(inside: Context, steps: AsyncIterator<T, R>): AsyncGenerator<T, R> {
    let isOpen = true;
    try {
      for (;;) {
        isOpen = false;
        const step = await api.context.with(inside, () => steps.next());
        if (step.done) return step.value;
        isOpen = true;
        yield step.value;
      }
    } finally {
      if (isOpen) await api.context.with(inside, () => steps.return?.());
    }
  }

  return {
    name: 'openTelemetry',
    onError: 'ignore',
    // Runs last, so that the spans contain the events as the other hooks changed them.
    on: {
      'pre-acting': {
        priority: Infinity,
        handle: ({ runId, toolUse, at }) =>
          withSpans(runs.get(runId), (spans) => void beginTool(spans, toolUse, at)),
      },
      'post-acting': {
        priority: Infinity,
        handle: ({ runId, toolUse, result, at }) =>
          withSpans(runs.get(runId), (spans) => endTool(spans, toolUse.id, result, at)),
      },
      'step-reset': ({ runId, reason, at }) =>
        withSpans(runs.get(runId), (spans) =>
          (spans.chats.at(-1) ?? spans).span.addEvent('step-reset', { reason }, at),
        ),
      'context-fitted': ({ runId, removed, before, after, error, at }) =>
        withSpans(runs.get(runId), ({ span }) =>
          span.addEvent(
            'context-fitted',
            { removed, before, after, ...(error && errorAttributes(error)) },
            at,
          ),
        ),
    },
    wrapModel: (next) => withStream(next, (request, context) => chat(next, request, context)),
    wrapTool: (next) => (call, options) => {
      const spans = runs.get(options.runId);
      if (!spans) return next(call, options);
      const { tool, toolUse } = call;
      // After a decision there is no `pre-acting` in this run: an earlier run emitted it.
      const { span, inside } =
        spans.tools.get(toolUse.id) ?? beginTool(spans, toolUse, spans.run.now());
      span.setAttribute('gen_ai.tool.description', tool.schema.description);
      return api.context.with(inside, () => next(call, options));
    },
    wrapRun: (next) => async (input, context) => {
      const spans = beginRun(context, input?.messages ?? []);
      runs.set(context.runId, spans);
      try {
        const result = await api.context.with(spans.inside, () => next(input, context));
        endRun(spans.span, result, content);
        return result;
      } catch (thrown) {
        fail(spans.span, AgentError.from(thrown));
        throw thrown;
      } finally {
        runs.delete(context.runId);
        const at = context.now();
        // Tool calls that suspended still have open spans.
        for (const { span } of [...spans.chats, ...spans.tools.values(), spans]) span.end(at);
      }
    },
  };
}

function endRun(
  span: Span,
  { reason, error, usage, iterations, message }: AgentResult,
  content: boolean,
): void {
  span.setAttributes({
    ...usageAttributes(usage),
    'isoloop.reason': reason,
    'isoloop.iterations': iterations,
    ...(content && { 'gen_ai.output.messages': outputMessages(message.content, reason) }),
  });
  if (error) fail(span, error);
}

function fail(
  span: Span | undefined,
  error: { readonly code: string; readonly message: string } | 'TOOL_ERROR',
): void {
  const { code, message } = error === 'TOOL_ERROR' ? { code: error, message: undefined } : error;
  span?.setAttribute('error.type', code);
  span?.setStatus({
    code: errorStatus,
    ...(message !== undefined && { message: maskSecrets(message) }),
  });
}

function withSpans(spans: RunSpans | undefined, act: (spans: RunSpans) => void): void {
  if (spans) act(spans);
}
