import type { ChatModel, ModelDelta } from '../model/chat-model.ts';
import type { TokenCalibration } from './token-calibration.ts';

/**
 * Wraps a model so that a calibration learns from the usage that the model reports. The calibration
 * stores the result under the model's name.
 *
 * Wrap the model itself, inside all other wrappers. `retry()` adds up the usage of several
 * attempts, and a cached reply has the usage of an earlier request. With `fallback()`, wrap each
 * model separately.
 */
export function calibrated(model: ChatModel, calibration: TokenCalibration): ChatModel {
  const { provider, modelId, features } = model;
  return {
    provider,
    modelId,
    features,
    async *stream(request, context): AsyncIterableIterator<readonly ModelDelta[]> {
      for await (const deltas of model.stream(request, context)) {
        const last = deltas.at(-1);
        if (last?.type === 'finish')
          calibration.observe(modelId, { ...request, usage: last.usage });
        yield deltas;
      }
    },
  };
}
