/**
 * Reads everything that the site stores in the browser: databases, storages, caches, files,
 * cookies. Each key of the result says where the value is stored.
 */
export async function readStored(): Promise<Readonly<Record<string, unknown>>> {
  const stored: Record<string, unknown> = { cookies: document.cookie };
  for (const { name = '' } of await indexedDB.databases())
    Object.assign(stored, await readDatabase(name));
  for (const [key, value] of Object.entries({ ...localStorage })) stored[`local ${key}`] = value;
  for (const [key, value] of Object.entries({ ...sessionStorage }))
    stored[`session ${key}`] = value;
  for (const name of await caches.keys())
    for (const { url } of await (await caches.open(name)).keys())
      stored[`cache ${name} ${url}`] = await (await caches.match(url))?.text();
  for await (const [name] of (await navigator.storage.getDirectory()).entries())
    stored[`file ${name}`] = true;
  return stored;
}

async function readDatabase(name: string): Promise<Readonly<Record<string, unknown>>> {
  const stored: Record<string, unknown> = { [`database ${name}`]: true };
  const db = await settled(indexedDB.open(name));
  for (const storeName of db.objectStoreNames) {
    const store = db.transaction(storeName).objectStore(storeName);
    const [keys, values] = await Promise.all([
      settled(store.getAllKeys()),
      settled(store.getAll()),
    ]);
    keys.forEach((key, index) => (stored[`${name}/${storeName}/${String(key)}`] = values[index]));
  }
  db.close();
  return stored;
}

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result));
    request.addEventListener('error', () => reject(request.error!));
  });
}
