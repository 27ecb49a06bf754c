export { unstorageStore, type UnstorageStoreOptions } from './memory/unstorage-store.ts';
