import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import { classifyError } from '../../error/classify-error.ts';
import type { ChatModel, ModelRequest, RunInfo } from '../../model/chat-model.ts';
import { tell } from '../../error/tell.ts';
import { tryInTurn, type Attempt } from './try-in-turn.ts';
import type { ModelMiddleware } from '../../model/wrap-model.ts';

export interface FallbackOptions {
  /**
   * Whether to ask the next model after a failure. Default: after any failure except a
   * cancellation, so after a refused request or key too.
   */
  readonly when?: (error: unknown) => boolean;
  /**
   * Returns the request for `model`, for example without another provider's `providerOptions`.
   * Default: the same request.
   */
  readonly request?: (request: ModelRequest, model: ChatModel) => ModelRequest;
  /**
   * Whether it also takes over after the first delta. A `reset` delta comes first (`step-reset` for
   * readers). Default true.
   */
  readonly afterFirstDelta?: boolean;
  readonly onFallback?: (fallback: Fallback) => void;
}

export interface Fallback {
  readonly from: ChatModel;
  readonly to: ChatModel;
  readonly error: AgentError;
  /** The run it belongs to; absent if no run made the request. */
  readonly run?: RunInfo;
}

/**
 * Asks the next of `models` if the model fails, with the same history and tools. Each request
 * starts with the first model again. A model that takes no tools gets none. The combined model has
 * the name and features of the first model, and the smallest context window of all. If all fail,
 * the request fails with the last model's error.
 *
 * Throws `CONFIGURATION` for an invalid model and for an empty list. `wrapModel` throws it if
 * `outputGuards` stand after this in the list, because they would not check the other models.
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
  checkFields(
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
          'Put fallback() after outputGuards(), or the guards do not see its models.',
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
