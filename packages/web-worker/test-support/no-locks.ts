import { IndexedDbMemory, IndexedDbStore } from '@isoloop/web-worker/store';
import { exposeAgent } from '@isoloop/web-worker/worker';
import { ReActAgent } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';

// Acts like a worker of a page without HTTPS, which has no `navigator.locks`.
Object.defineProperty(navigator, 'locks', { value: undefined });

exposeAgent<string>(({ sessionId, options }) => {
  const memory = new IndexedDbMemory(sessionId, {
    store: new IndexedDbStore({ database: options }),
  });
  return new ReActAgent({
    name: 'a',
    model: new ScriptedModel([{ text: 'one ', hang: true }]),
    memory,
  });
});
