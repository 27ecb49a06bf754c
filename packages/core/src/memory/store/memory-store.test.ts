import * as vitest from 'vitest';
import { keyValueStoreConformance } from '../../testing/store-conformance.ts';
import { weakStore } from '@test/support/weak-store.ts';
import { MemoryStore } from './memory-store.ts';
import { sessionConformance } from '@test/stores/session-conformance.ts';

keyValueStoreConformance(vitest, 'MemoryStore', () => new MemoryStore());
sessionConformance(vitest, 'MemoryStore', () => new MemoryStore());
keyValueStoreConformance(vitest, 'a store without compareAndSet', () => weakStore());
sessionConformance(vitest, 'a store without compareAndSet', () => weakStore());
