import type { EventBatch } from '@isoloop/core';

/**
 * Converts a batch of events to what the client gets. Texts are sent as they are, and objects as
 * server-sent events. For an empty list, nothing is sent.
 */
export type EncodeBatch = (batch: EventBatch) => readonly (object | string)[];
