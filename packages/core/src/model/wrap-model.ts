import { checkFields } from '../error/check-fields.ts';
import type { ChatModel } from './chat-model.ts';

/**
 * What stands around a model: a middleware of an agent, or a wrapper of one model by `wrapModel`.
 */
export interface ModelMiddleware {
  readonly name?: string;
  /** The model to be asked in place of `model`. */
  wrapModel(model: ChatModel): ChatModel;
}

/**
 * The model with middleware around it, the first outermost, as in `use`. Throws
 * `CONFIGURATION` for what is neither.
 */
export function wrapModel(model: ChatModel, ...middleware: readonly ModelMiddleware[]): ChatModel {
  checkFields('CONFIGURATION', 'wrapModel(): the model', model, 'stream:function features:object');
  return middleware.reduceRight((next, one) => {
    checkFields('CONFIGURATION', 'wrapModel(): the middleware', one, 'wrapModel:function');
    return one.wrapModel(next);
  }, model);
}

/** The same model to look at, which streams otherwise. */
export function withStream(
  { provider, modelId, features }: ChatModel,
  stream: ChatModel['stream'],
): ChatModel {
  return { provider, modelId, features, stream };
}
