import { createStore, del, get, set } from 'idb-keyval';

export interface KeyChoice {
  /** Address of the server. A key is kept for one server. */
  readonly baseURL: string;
  /** The key that the user has entered. Empty: the kept one, if any. */
  readonly apiKey: string;
  /** Whether the user wants the key to be kept. */
  readonly keepsKey: boolean;
}

/**
 * Returns the key of a server. Keeps a new one in this worker's own database if the user wants
 * that, and deletes it if not. Only the worker calls this function: the page never reads or stores
 * a key.
 */
export async function keyFor({ baseURL, apiKey, keepsKey }: KeyChoice): Promise<string> {
  const store = createStore('isoloop-demo-keys', 'keys');
  if (!keepsKey) await del(baseURL, store);
  else if (apiKey) await set(baseURL, apiKey, store);
  else return (await get<string>(baseURL, store)) ?? '';
  return apiKey;
}
