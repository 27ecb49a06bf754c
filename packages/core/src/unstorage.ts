export { unstorageStore, type UnstorageStoreOptions } from './memory/store/unstorage-store.ts';
