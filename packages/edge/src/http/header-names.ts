/**
 * Header of a stream: the longest time without data, in milliseconds. If nothing comes for longer,
 * the connection is dead.
 */
export const keepAliveHeader = 'x-isoloop-keep-alive';

/** Header of an answer of `/v1`: names of the request's fields that had no effect. */
export const ignoredHeader = 'x-isoloop-ignored';
