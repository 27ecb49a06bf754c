/** Context window, in tokens, of models that do not declare one. */
export const contextWindow = 128_000;

/**
 * Context window of the offline model, in tokens. It is small, so that visitors can see how a long
 * history is fitted.
 */
export const offlineWindow = 8_000;
