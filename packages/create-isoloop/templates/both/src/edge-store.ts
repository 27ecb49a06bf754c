import { remoteStore } from './remote-store.ts';

/** Returns the store of the conversations, for the page and its worker. */
export const edgeStore = (token: string) =>
  remoteStore(async (method, args) => {
    const response = await fetch(`/store/${method}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify(args),
    });
    if (!response.ok) throw new Error(`The store answered with ${response.status}.`);
    return response.json();
  });
