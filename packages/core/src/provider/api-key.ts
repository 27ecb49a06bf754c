/**
 * API key of a provider, or a function that returns it. The function is called before each request.
 */
export type ApiKey = string | (() => string | Promise<string>);
