/**
 * Context window, in tokens, of models that do not declare one. The page's token gauge also uses
 * it.
 */
export const contextWindow = 128_000;
