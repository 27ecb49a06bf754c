/** Header of an answer of `/v1`: names of the request's fields that had no effect. */
export const ignoredHeader = 'x-isoloop-ignored';
