/**
 * Tokens requests are made to fit where a model does not say its own window; what the page's gauge
 * shows.
 */
export const contextWindow = 128_000;
