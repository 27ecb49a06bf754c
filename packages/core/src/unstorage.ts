export { unstorageStore } from './memory/unstorage/unstorage-store.ts';
export type { UnstorageStoreOptions } from './memory/unstorage/unstorage-store.ts';
