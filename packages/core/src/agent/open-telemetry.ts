import type { Attributes, Context, ContextAPI, Span, TraceAPI, Tracer } from '@opentelemetry/api';
import { AgentError } from '../error/agent-error.ts';
import { checkFields } from '../error/check-fields.ts';
import type { Hook } from '../hook/hook.ts';
import { maskParameters } from '../hook/mask-parameters.ts';
import type { JsonValue } from '../message/json.ts';
import { textOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';
import type { Usage } from '../model/usage.ts';
import type { AgentResult } from './agent-result.ts';
import type { Extension } from './extension.ts';
import type { Run } from './run.ts';

export interface OpenTelemetryOptions {
  /** What `@opentelemetry/api` exports: `import { context, trace } from '@opentelemetry/api'`. */
  readonly api: { readonly trace: TraceAPI; readonly context: ContextAPI };
  /** Default: the API's tracer `isoloop`. */
  readonly tracer?: Tracer;
  /** Adds what was answered and tools' arguments (secrets masked) and results as attributes. Default false. */
  readonly content?: boolean;
}

/** The open spans of a run. */
interface RunSpans {
  readonly sessionId: string;
  readonly agent: string;
  readonly run: Span;
  readonly inside: Context;
  readonly system: Attributes;
  readonly modelId: string;
  model?: Span | undefined;
  readonly tools: Map<string, Span>;
}

// Of `@opentelemetry/api`: an import of types brings no enums.
const internalKind = 0;
const clientKind = 2;
const errorStatus = 2;

/**
 * Spans after OpenTelemetry's conventions for generative AI: `invoke_agent` around a call, `chat` for each request of its loop and
 * `execute_tool` for each tool call. A call's span is a child of the context that is active when it begins; a tool runs in that of its
 * span, so that what it does (requests, agents) is a child of it wherever the API has a context manager. One may serve many agents. Throws
 * `CONFIGURATION` for an option of the wrong kind.
 */
export function openTelemetry(given: OpenTelemetryOptions): Extension {
  checkFields('CONFIGURATION', 'openTelemetry()', given, 'api:object tracer:startSpan()|? content:boolean|?');
  checkFields('CONFIGURATION', 'openTelemetry(): api', given.api, 'trace:setSpan() context:with()');
  const { api, tracer = api.trace.getTracer('isoloop'), content = false } = given;
  const runs = new Map<string, RunSpans>();

  const begin = (run: Run): RunSpans => {
    const { options, sessionId, model, now } = run.setup;
    const system: Attributes = { 'gen_ai.provider.name': model.provider };
    const attributes: Attributes = {
      ...system,
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': options.name,
      'gen_ai.conversation.id': sessionId,
      'gen_ai.request.model': model.modelId,
      'isoloop.run.id': run.id,
      ...(options.userId !== undefined && { 'user.id': options.userId }),
    };
    const outside = api.context.active();
    const span = tracer.startSpan(`invoke_agent ${options.name}`, { kind: internalKind, attributes, startTime: now() }, outside);
    return {
      sessionId,
      agent: options.name,
      run: span,
      inside: api.trace.setSpan(outside, span),
      system,
      modelId: model.modelId,
      tools: new Map(),
    };
  };

  const startModel = (spans: RunSpans, at: number): void => {
    const attributes = { ...spans.system, 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': spans.modelId };
    spans.model = tracer.startSpan(`chat ${spans.modelId}`, { kind: clientKind, attributes, startTime: at }, spans.inside);
  };
  const endModel = (spans: RunSpans, { metadata = {}, ...message }: Msg, at: number): void => {
    const { usage, finishReason } = metadata as { usage?: Usage; finishReason?: string };
    spans.model?.setAttributes({
      ...(usage && usageAttributes(usage)),
      ...(finishReason !== undefined && { 'gen_ai.response.finish_reasons': [finishReason] }),
      ...(content && { 'gen_ai.output.messages': textOf(message) }),
    });
    spans.model?.end(at);
    spans.model = undefined;
  };

  const hook: Hook = {
    name: 'open-telemetry',
    // Last, to see what the other hooks made of an event.
    priority: Infinity,
    onError: 'ignore',
    on: {
      'pre-reasoning': ({ runId, at }) => withSpans(runs.get(runId), (spans) => startModel(spans, at)),
      'post-reasoning': ({ runId, message, at }) => withSpans(runs.get(runId), (spans) => endModel(spans, message, at)),
      'pre-summary': ({ runId, at }) => withSpans(runs.get(runId), (spans) => startModel(spans, at)),
      'post-summary': ({ runId, message, at }) => withSpans(runs.get(runId), (spans) => endModel(spans, message, at)),
      'pre-acting': ({ runId, toolUse, at }) =>
        withSpans(runs.get(runId), ({ tools, inside }) => {
          const attributes: Attributes = {
            'gen_ai.operation.name': 'execute_tool',
            'gen_ai.tool.name': toolUse.name,
            'gen_ai.tool.call.id': toolUse.id,
            ...(content && { 'gen_ai.tool.call.arguments': JSON.stringify(maskParameters(toolUse.input)) }),
          };
          const span = tracer.startSpan(`execute_tool ${toolUse.name}`, { kind: internalKind, attributes, startTime: at }, inside);
          tools.set(toolUse.id, span);
        }),
      'post-acting': ({ runId, toolUse, result, at }) =>
        withSpans(runs.get(runId), ({ tools }) => {
          const span = tools.get(toolUse.id);
          span?.setAttributes({
            'isoloop.tool.state': result.state,
            ...(content && { 'gen_ai.tool.call.result': outputOf(result.output) }),
          });
          if (result.state === 'error') span?.setStatus({ code: errorStatus });
          span?.end(at);
          tools.delete(toolUse.id);
        }),
      'step-reset': ({ runId, reason, at }) =>
        withSpans(runs.get(runId), ({ run, model = run }) => model.addEvent('step-reset', { reason }, at)),
      'context-fitted': ({ runId, removed, before, after, at }) =>
        withSpans(runs.get(runId), ({ run }) => run.addEvent('context-fitted', { removed, before, after }, at)),
    },
  };

  return {
    hooks: [hook],
    wrapTool: (next) => (call, options) => {
      const { sessionId, agentPath } = options;
      const isOurs = (spans: RunSpans): boolean => spans.sessionId === sessionId && spans.agent === agentPath.at(-1);
      const spans = [...runs.values()].find((open) => isOurs(open) && open.tools.has(call.toolUse.id));
      if (!spans) return next(call, options);
      return api.context.with(api.trace.setSpan(spans.inside, spans.tools.get(call.toolUse.id)!), () => next(call, options));
    },
    wrapCall: (next) =>
      async function* (run, input) {
        const spans = begin(run);
        runs.set(run.id, spans);
        try {
          const result = yield* next(run, input);
          endRun(spans, result, content);
          return result;
        } catch (thrown) {
          const { code, message } = AgentError.from(thrown);
          spans.run.setAttribute('error.type', code);
          spans.run.setStatus({ code: errorStatus, message });
          throw thrown;
        } finally {
          runs.delete(run.id);
          const at = run.setup.now();
          // Of a request that was cut, and of calls that wait for somebody.
          for (const span of [spans.model, ...spans.tools.values(), spans.run]) span?.end(at);
        }
      },
  };
}

function endRun({ run }: RunSpans, { reason, error, usage, iterations, text }: AgentResult, content: boolean): void {
  run.setAttributes({
    ...usageAttributes(usage),
    'isoloop.reason': reason,
    'isoloop.iterations': iterations,
    ...(content && { 'gen_ai.output.messages': text }),
  });
  if (!error) return;
  run.setAttribute('error.type', error.code);
  run.setStatus({ code: errorStatus, message: error.message });
}

function withSpans(spans: RunSpans | undefined, act: (spans: RunSpans) => void): void {
  if (spans) act(spans);
}

function usageAttributes({ inputTokens, outputTokens }: Usage): Attributes {
  return { 'gen_ai.usage.input_tokens': inputTokens, 'gen_ai.usage.output_tokens': outputTokens };
}

function outputOf(output: string | readonly unknown[]): string {
  return typeof output === 'string' ? output : JSON.stringify(output as JsonValue);
}
