import * as vitest from 'vitest';
import { keyValueStoreConformance } from '../testing/store-conformance.ts';
import { MemoryStore } from './memory-store.ts';

keyValueStoreConformance(vitest, 'MemoryStore', () => new MemoryStore());
