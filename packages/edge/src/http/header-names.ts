/**
 * Header for the echo (`MemorySetup.echo`), in requests and responses without messages that can
 * carry it.
 */
export const echoHeader = 'x-isoloop-echo';

/** Header of an answer of `/v1`: names of the request's fields that had no effect. */
export const ignoredHeader = 'x-isoloop-ignored';

/** Header with a digest of the user's id. Tabs of a browser share answers if it is the same. */
export const userHeader = 'x-isoloop-user';

/** Header that says that a client may leave a running answer and read on later. */
export const rejoinHeader = 'x-isoloop-rejoin';
