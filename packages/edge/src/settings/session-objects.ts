/** Object that answers the requests to a session: a Durable Object, or an object of a store. */
export interface SessionObject {
  fetch(address: string, init: RequestInit): Promise<Response>;
}

/** Function that returns the object with a name, which has the user and the session id. */
export type SessionObjects = (name: string) => SessionObject;
