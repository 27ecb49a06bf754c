import type { ChatModel, ModelDelta } from '../model/chat-model.ts';
import type { TokenCalibration } from './token-calibration.ts';

/**
 * A model whose requests a calibration learns from, under the model's name, by the usage at the end
 * of each reply. It is to stand next to the model, within whatever asks it twice, or another in its
 * place, or adds to the request: `retry()` sums the usage of its attempts, a reply out of a cache
 * has that of another request, and each model of a `fallback()` is calibrated by itself.
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
