import type { ChatModel, ModelDelta } from '../model/chat-model.ts';
import type { TokenCalibration } from './token-calibration.ts';

/**
 * Wraps a model so that a calibration learns from its requests, under the model's name. It learns
 * from the usage at the end of each reply. Put it directly around the model, inside wrappers that
 * repeat, replace or extend requests. `retry()` sums the usage of its attempts, and a cached reply
 * has the usage of another request. Calibrate each model of a `fallback()` by itself.
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
