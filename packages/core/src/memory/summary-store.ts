import type { KeyValueStore } from './key-value-store.ts';

export type SummaryStore = Pick<KeyValueStore, 'get' | 'set' | 'delete'>;
