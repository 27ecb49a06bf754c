import { openai } from '@isoloop/core/openai';
import type { ChatModel } from '@isoloop/core';
import { createAgentHandler, type AgentHandler } from '@isoloop/edge';
import { demoAgent } from '../src/demo-agent.ts';
import { offlineModel } from '../src/offline-model.ts';
import type { Note, NotesStore } from '../src/tools/notes.ts';

export interface Env {
  /** Keeps the notes. The conversations are Durable Objects. */
  readonly CHAT_KV: KVNamespace;
  /** Model of `model: 'edge'`. Without it only the offline model is available. */
  readonly OPENAI_MODEL?: string;
  /** Never leaves the Worker. Set it with `wrangler secret put OPENAI_API_KEY`. */
  readonly OPENAI_API_KEY?: string;
  /** Address of the endpoint. Default: OpenAI's. */
  readonly OPENAI_BASE_URL?: string;
}

const offlineOnly = demoHandler(['offline']);
const withModel = demoHandler(['offline', 'edge']);

/**
 * The Durable Object of a conversation. A handler has validated each turn before it arrives here,
 * so both handlers can share this class.
 */
export const ChatSession: typeof withModel.Session = withModel.Session;

export default {
  fetch: (request, env, context) =>
    (env.OPENAI_MODEL ? withModel : offlineOnly).fetch(request, env, context),
} satisfies ExportedHandler<Env>;

/**
 * Builds the handler. Without `authorize` it only answers requests to this machine, so add yours
 * before you deploy.
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
