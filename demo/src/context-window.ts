/** Context window in tokens for models that do not declare one. The page's gauge shows it. */
export const contextWindow = 128_000;
