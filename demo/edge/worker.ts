import { openai } from '@isoloop/core/openai';
import type { ChatModel } from '@isoloop/core';
import { createAgentHandler, type AgentHandler } from '@isoloop/edge';
import { demoAgent } from '../src/demo-agent.ts';
import { offlineModel } from '../src/offline-model.ts';
import type { Note, NotesStore } from '../src/tools/notes.ts';

export interface Env {
  /** The notes; and the conversations, where CHAT_SESSION is not bound. */
  readonly CHAT_KV: KVNamespace;
  /** With it there is also `model: 'edge'`. */
  readonly OPENAI_MODEL?: string;
  /** Never leaves the Worker. `wrangler secret put OPENAI_API_KEY` sets it. */
  readonly OPENAI_API_KEY?: string;
  /** Default: OpenAI's. */
  readonly OPENAI_BASE_URL?: string;
}

const offlineOnly = demoHandler(['offline']);
const withModel = demoHandler(['offline', 'edge']);

/** A conversation's object: the turns it is given are checked already, by one of the two. */
export const ChatSession: typeof withModel.Session = withModel.Session;

export default {
  fetch: (request, env, context) =>
    (env.OPENAI_MODEL ? withModel : offlineOnly).fetch(request, env, context),
} satisfies ExportedHandler<Env>;

/**
 * Without `authorize` only requests to this machine are answered: put yours in before you deploy.
 */
function demoHandler(models: readonly string[]): AgentHandler<Env> {
  return createAgentHandler<Env>({
    models,
    agent: ({ env, session, user, memory, model }) =>
      demoAgent({
        sessionId: session,
        memory,
        model: chooseModel(model, env),
        notes: notesInKv(env.CHAT_KV, user),
      }),
    // In KV leaving is how the page's Stop reaches the edge. A run that went on would write its
    // answer behind the next question's.
    limits: { afterDisconnectMs: 0 },
  });
}

function chooseModel(
  name: string,
  { OPENAI_API_KEY: apiKey, OPENAI_MODEL: model, OPENAI_BASE_URL: baseURL }: Env,
): ChatModel {
  if (name !== 'edge' || !model) return offlineModel();
  return openai({ model, ...(apiKey ? { apiKey } : {}), ...(baseURL ? { baseURL } : {}) });
}

function notesInKv(kv: KVNamespace, user: string): NotesStore {
  const key = `notes:${encodeURIComponent(user)}`;
  return {
    read: async () => (await kv.get<readonly Note[]>(key, 'json')) ?? [],
    write: (notes) => kv.put(key, JSON.stringify(notes)),
  };
}
