import type { ContextAPI, TraceAPI, Tracer } from '@opentelemetry/api';
import { checkFields } from '../error/options/check-fields.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { boolean, object, optional, withMethod } from '../error/options/kinds.ts';
import type { FieldTable, OptionTable } from '../error/options/option-table.ts';
import { withStream, type ModelMiddleware } from '../model/wrap-model.ts';
import type { Middleware } from '../agent/middleware.ts';
import { perRun } from '../agent/per-run.ts';
import type { RunInfo } from '../model/chat-model.ts';
import { RunSpans, tracedReply } from './run-spans.ts';
import { errorAttributes } from './gen-ai-attributes.ts';

/** Which tracer gets the spans of `openTelemetry()`, and what they contain. */
export interface OpenTelemetryOptions {
  /** Exports of `@opentelemetry/api`: `import { context, trace } from '@opentelemetry/api'`. */
  readonly api: { readonly trace: TraceAPI; readonly context: ContextAPI };
  /** Tracer that creates the spans. Default: the API's tracer with the name `isoloop`. */
  readonly tracer?: Tracer;
  /**
   * Whether spans contain messages, replies, and the arguments and results of tools. Secrets in
   * tool arguments are masked, and media contain no data. Default: false.
   */
  readonly content?: boolean;
}

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
export function openTelemetry(options: OpenTelemetryOptions): Middleware & ModelMiddleware {
  checkOptions('openTelemetry()', options, openTelemetryOptions);
  checkFields('openTelemetry(): api', options.api, apiFields);
  const { api, tracer = api.trace.getTracer('isoloop'), content = false } = options;
  const tracing = { api, tracer, content };
  const stateOf = perRun((): { spans?: RunSpans } => ({}));
  const spansOf = (run: RunInfo): RunSpans | undefined => stateOf(run).spans;
  return {
    name: 'openTelemetry',
    onError: 'ignore',
    // Runs last, so that the spans contain the events as the other hooks changed them.
    on: {
      'pre-acting': {
        priority: Infinity,
        handle: ({ toolUse }, run) => void spansOf(run)?.beginTool(toolUse),
      },
      'post-acting': {
        priority: Infinity,
        handle: ({ toolUse, result }, run) => spansOf(run)?.endTool(toolUse.id, result),
      },
      'step-reset': ({ reason }, run) => {
        const spans = spansOf(run);
        spans?.innermost.span.addEvent('step-reset', { reason }, spans.now());
      },
      'context-fitted': ({ removed, before, after, error }, run) => {
        const attributes = { removed, before, after, ...(error && errorAttributes(error)) };
        const spans = spansOf(run);
        spans?.span.addEvent('context-fitted', attributes, spans.now());
      },
    },
    wrapModel: (model) =>
      withStream(model, (request, context) => {
        const spans = context.run && spansOf(context.run);
        return tracedReply(tracing, { model, request, context, spans });
      }),
    wrapTool: (call, next, run) => {
      // After a decision there is no `pre-acting` in this run: an earlier run emitted it.
      const toolSpan = spansOf(run)?.ofTool(call.toolUse);
      if (!toolSpan) return next(call);
      toolSpan.span.setAttribute('gen_ai.tool.description', call.tool.schema.description);
      return api.context.with(toolSpan.spanContext, () => next(call));
    },
    wrapRun: async (input, next, run) => {
      const spans = new RunSpans(tracing, run, input.messages);
      stateOf(run).spans = spans;
      try {
        const result = await api.context.with(spans.spanContext, () => next(input));
        spans.result(result);
        return result;
      } catch (thrown) {
        spans.fail(thrown);
        throw thrown;
      } finally {
        spans.end();
      }
    },
  };
}

const apiFields: FieldTable<OpenTelemetryOptions['api']> = {
  trace: withMethod('setSpan'),
  context: withMethod('with'),
};

const openTelemetryOptions: OptionTable<OpenTelemetryOptions> = {
  api: object,
  tracer: optional(withMethod('startSpan')),
  content: optional(boolean),
};
