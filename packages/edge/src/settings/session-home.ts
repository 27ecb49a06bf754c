import type { Awaitable, Memory } from '@isoloop/core';
import type { HandlerSettings, MemorySetup } from './handler-options.ts';
import type { StoredSessionList } from './session-list.ts';

/** Where the conversations of an endpoint live. One value for each request. */
export type SessionHome =
  | {
      /** Each conversation in its own Durable Object. */
      readonly kind: 'object';
      readonly objects: SessionObjects;
      /** Whether the object has the messages, too. False with the option `memory`. */
      readonly hasMessages: boolean;
    }
  | {
      /** In a store, with the turns in this process. */
      readonly kind: 'store';
      readonly objects: SessionObjects;
    }
  | {
      /** In Workers KV. Each request runs its own turn. */
      readonly kind: 'kv';
      readonly namespace: KVNamespace;
      readonly open: (setup: MemorySetup) => Memory;
      /** Returns the list of a user's conversations. */
      readonly list: (user: string) => StoredSessionList;
    }
  | {
      /** In the memory that the option `memory` opens. Each request runs its own turn. */
      readonly kind: 'memory';
      readonly open: (setup: MemorySetup) => Awaitable<Memory>;
    }
  | {
      /** Nothing is bound or passed. */
      readonly kind: 'none';
    };

/** Object that answers the requests to a session: a Durable Object, or an object of a store. */
export interface SessionObject {
  fetch(address: string, init: RequestInit): Promise<Response>;
}

/** Function that returns the object with a name, which has the user and the session id. */
export type SessionObjects = (name: string) => SessionObject;

/** Returns the objects of the sessions, or `undefined` if each request runs its own turn. */
export function objectsOf(home: SessionHome): SessionObjects | undefined {
  return 'objects' in home ? home.objects : undefined;
}

/** A home for conversations, for the options `kv` and `store` of `createAgentHandler`. */
export interface SessionHomes {
  /**
   * Opens the home for an endpoint. Returns a function that returns the home with the bindings of a
   * request, or `undefined` if its binding is missing. Throws `CONFIGURATION` if the other options
   * of the endpoint do not fit.
   */
  readonly open: (settings: HandlerSettings) => (env: object) => SessionHome | undefined;
}
