import { onTestFinished } from 'vitest';

/**
 * Returns the name of a database that is deleted when the test ends. The stores of the database
 * then close their connections.
 */
export function testDatabase(name: string = crypto.randomUUID()): string {
  onTestFinished(() => deleteDatabase(name));
  return name;
}

/** Resolves when a database is deleted, after all its connections are closed. */
export function deleteDatabase(name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.deleteDatabase(name);
    request.addEventListener('success', () => resolve());
    request.addEventListener('error', () => reject(request.error!));
  });
}
