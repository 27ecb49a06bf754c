export { unstorageStore } from './memory/unstorage-store.ts';
export type { UnstorageStoreOptions } from './memory/unstorage-store.ts';
