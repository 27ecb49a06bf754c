import { misconfigured } from '../error/agent-error.ts';
import { checkFields } from '../error/options/check-fields.ts';
import { func, object } from '../error/options/kinds.ts';
import type { ChatModel } from './chat-model.ts';

/** Wrapper of a model: a middleware of an agent, or an argument of `wrapModel`. */
export interface ModelMiddleware {
  readonly name?: string;
  /** Returns the model to use in place of `model`. */
  wrapModel(model: ChatModel): ChatModel;
}

/**
 * Wraps a model in middleware such as `retry()`, for a model outside an agent. The first middleware
 * is the outermost wrapper, as in `use`. Throws `CONFIGURATION` for an argument that is not a model
 * or not middleware.
 *
 * @example
 * const summarizer = wrapModel(model, retry(), modelTimeout({ totalMs: 30_000 }));
 */
export function wrapModel(
  model: ChatModel,
  ...middleware: readonly Partial<ModelMiddleware>[]
): ChatModel {
  checkFields('wrapModel(): the model', model, { stream: func, features: object });
  return middleware.reduceRight((next, one) => {
    checkFields('wrapModel(): the middleware', one, { wrapModel: func });
    return one.wrapModel!(next);
  }, model);
}

/**
 * Returns a model that streams in your way and is otherwise the same. Use it in `wrapModel`.
 *
 * @example
 * wrapModel: (next) =>
 *   withStream(next, (request, context) => next.stream({ ...request, temperature: 0 }, context)),
 */
export function withStream(
  { provider, modelId, features }: ChatModel,
  stream: ChatModel['stream'],
): ChatModel {
  checkFields('withStream()', { stream }, { stream: func });
  return { provider, modelId, features, stream };
}

/**
 * Throws `CONFIGURATION` if guards check the model, but not all others that a middleware may ask in
 * its place. `where`: the name of the middleware.
 */
export function checkGuarded(
  where: string,
  { features }: ChatModel,
  others: readonly ChatModel[],
): void {
  if (!features.guarded || others.every((other) => other.features.guarded)) return;
  const order = `Put ${where} after outputGuards() in the list.`;
  throw misconfigured(`${order} Otherwise the guards do not check its models.`);
}
