import { AgentError, misconfigured } from '../error/agent-error.ts';
import { checkFields } from '../error/options/check-fields.ts';
import { checkOptions } from '../error/options/check-options.ts';
import { array, boolean, func, object, optional } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';
import { classifyError } from '../error/classify-error.ts';
import { boundedModel } from '../model/reply/bounded-model.ts';
import { runInfo, type ChatModel, type ModelRequest, type RunInfo } from '../model/chat-model.ts';
import { callListener } from '../error/report-failure.ts';
import { tryEach } from './try-each.ts';
import { checkGuarded, withStream, type ModelMiddleware } from '../model/wrap-model.ts';
import { syncValue } from '../wait/sync-value.ts';

/** After which errors `fallback()` asks the next model, and who is told. */
export interface FallbackOptions {
  /**
   * Returns whether to ask the next model after a failure. Default: after any failure except a
   * cancellation, so also after a rejected request or key.
   */
  readonly when?: (error: unknown) => boolean;
  /**
   * Returns the request for `model`. For example, it can remove `providerOptions` of another
   * provider. Default: the same request.
   */
  readonly request?: (request: ModelRequest, model: ChatModel) => ModelRequest;
  /**
   * Whether the next model is also asked if the model fails after its first delta. A `reset` delta
   * then discards the text so far; readers get a `step-reset`. Default: true.
   */
  readonly afterFirstDelta?: boolean;
  readonly onFallback?: (fallback: FallbackInfo) => void;
}

/** A change from a model that failed to the next one. */
export interface FallbackInfo {
  readonly from: ChatModel;
  readonly to: ChatModel;
  readonly error: AgentError;
  /** Run that made the request. Absent if it was made outside a run. */
  readonly run?: RunInfo;
}

/**
 * Asks the next model of `models` if a model fails, with the same messages and tools. Each request
 * begins with the first model again. A model without tool calling gets no tools. The combined model
 * has the name and features of the first model, and the smallest context window of all models. If
 * all models fail, the request fails with the error of the last model.
 *
 * Throws `CONFIGURATION` for an invalid model or an empty list. `wrapModel` throws `CONFIGURATION`
 * if `outputGuards` comes after `fallback` in the list. In that order, the guards would not check
 * the other models.
 */
export function fallback(
  models: readonly ChatModel[],
  options: FallbackOptions = {},
): ModelMiddleware {
  checkFields(where, { models }, { models: array });
  if (!models.length) throw misconfigured('fallback() needs at least one model in its list.');
  for (const model of models)
    checkFields(`${where}: a model`, model, { stream: func, features: object });
  checkOptions(where, options, fallbackOptions);
  const { afterFirstDelta = true, onFallback } = options;
  const boundedModels = models.map((model) => boundedModel(model));
  return {
    name: 'fallback',
    wrapModel(model) {
      checkGuarded(where, model, models);
      const windows = [model, ...models].flatMap(({ features }) => features.contextWindow ?? []);
      const minWindow = windows.length ? { contextWindow: Math.min(...windows) } : {};
      const features = { ...model.features, ...minWindow };
      return withStream({ ...model, features }, (request, context) => {
        const { run, onModel } = context;
        onModel?.(model);
        return tryEach({ model, request }, context, 'fallback', async (failed) => {
          const { error: thrown, attempt, hasBegun } = failed;
          const from = models[attempt - 2] ?? model;
          const to = models[attempt - 1];
          if (!to || (hasBegun && !afterFirstDelta)) return undefined;
          const error = failureOf(thrown, options);
          if (!error) return undefined;
          callListener(onFallback, { from, to, error, ...(run && { run: runInfo(run) }) });
          onModel?.(to);
          return { model: boundedModels[attempt - 1]!, request: requestFor(to, request, options) };
        });
      });
    },
  };
}

const fallbackOptions: OptionTable<FallbackOptions> = {
  when: optional(func),
  request: optional(func),
  onFallback: optional(func),
  afterFirstDelta: optional(boolean),
};

const where = 'fallback()';

/** Returns the failure after which to ask the next model, or `undefined` if it is final. */
function failureOf(thrown: unknown, { when }: FallbackOptions): AgentError | undefined {
  const { code } = classifyError(thrown);
  const isFinal = code === 'ABORTED' || (when && !syncValue(`${where}: when`, when(thrown)));
  return isFinal ? undefined : AgentError.from(thrown, code);
}

function requestFor(
  model: ChatModel,
  request: ModelRequest,
  { request: adapt }: FallbackOptions,
): ModelRequest {
  const adaptedRequest = adapt ? adapt(request, model) : request;
  if (model.features.tools || !adaptedRequest.tools.length) return adaptedRequest;
  const { toolChoice: _choice, ...rest } = adaptedRequest;
  return { ...rest, tools: [] };
}
