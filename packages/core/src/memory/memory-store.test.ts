import { keyValueStoreConformance } from '../testing/store-conformance.ts';
import { MemoryStore } from './memory-store.ts';

keyValueStoreConformance('MemoryStore', () => new MemoryStore());
