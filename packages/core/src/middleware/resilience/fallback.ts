import { AgentError } from '../../error/agent-error.ts';
import { checkFields, checkOptions } from '../../error/check-fields.ts';
import { classifyError } from '../../error/classify-error.ts';
import type { ChatModel, ModelRequest, RunInfo } from '../../model/chat-model.ts';
import { tell } from '../../error/report-failure.ts';
import { tryInTurn, type Attempt } from './try-in-turn.ts';
import type { ModelMiddleware } from '../../model/wrap-model.ts';

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
   * then discards the text so far; readers get a `step-reset`. Default true.
   */
  readonly afterFirstDelta?: boolean;
  readonly onFallback?: (fallback: Fallback) => void;
}

export interface Fallback {
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
  const where = 'fallback()';
  checkFields('CONFIGURATION', where, { models }, 'models:array');
  if (!models.length) throw new AgentError('CONFIGURATION', 'fallback() needs a model.');
  for (const model of models)
    checkFields('CONFIGURATION', `${where}: a model`, model, 'stream:function features:object');
  checkOptions(
    'CONFIGURATION',
    where,
    options,
    'when:function|? request:function|? afterFirstDelta:boolean|? onFallback:function|?',
  );
  const { when = () => true, request: adapt = same, afterFirstDelta = true, onFallback } = options;
  return {
    name: 'fallback',
    wrapModel(model) {
      const { provider, modelId } = model;
      if (model.features.guarded && !models.every(({ features }) => features.guarded)) {
        throw new AgentError(
          'CONFIGURATION',
          'Put fallback() after outputGuards() in the list. Otherwise the guards do not check its models.',
        );
      }
      const windows = [model, ...models].flatMap(
        ({ features: { contextWindow } }) => contextWindow ?? [],
      );
      return {
        provider,
        modelId,
        features: {
          ...model.features,
          ...(windows.length && { contextWindow: Math.min(...windows) }),
        },
        stream: (request, context) => {
          const { run, onModel } = context;
          onModel?.(model);
          return tryInTurn({
            first: { model, request },
            context,
            reason: 'fallback',
            async next({ error, attempt, model: from, begun }): Promise<Attempt | undefined> {
              const to = models[attempt - 1];
              const { code } = classifyError(error);
              if (!to || (begun && !afterFirstDelta) || code === 'ABORTED' || !when(error))
                return undefined;
              tell(onFallback, {
                from,
                to,
                error: AgentError.from(error, code),
                ...(run && { run }),
              });
              onModel?.(to);
              const adapted = adapt(request, to);
              checkFields(
                'CONFIGURATION',
                `${where}: the result of \`request\``,
                adapted,
                'messages:array tools:array',
              );
              return { model: to, request: withoutForeignTools(adapted, to) };
            },
          });
        },
      };
    },
  };
}

function same(request: ModelRequest): ModelRequest {
  return request;
}

function withoutForeignTools(request: ModelRequest, { features }: ChatModel): ModelRequest {
  if (features.tools || !request.tools.length) return request;
  const { toolChoice: _choice, ...rest } = request;
  return { ...rest, tools: [] };
}
