import { openai } from '@isoloop/core/openai';
import type { ChatModel } from '@isoloop/core';
import { createAgentHandler, type AgentHandler } from '@isoloop/edge';
import { demoAgent } from '../src/demo-agent.ts';
import { offlineModel } from '../src/offline-model.ts';
import type { Note, NotesStore } from '../src/tools/notes.ts';

export interface Env {
  readonly CHAT_KV: KVNamespace;
  /** With both, `model: 'edge'` is that model; the key never leaves the Worker. `wrangler secret put OPENAI_API_KEY` sets it. */
  readonly OPENAI_API_KEY?: string;
  readonly OPENAI_MODEL?: string;
  /** Default: OpenAI's. */
  readonly OPENAI_BASE_URL?: string;
}

// Without `authorize` only requests to this machine are answered: put yours in before you deploy.
const handler: AgentHandler<Env> = createAgentHandler<Env>({
  models: ['offline', 'edge'],
  agent: ({ env, session, user, memory, model }) =>
    demoAgent({ sessionId: session, memory, model: chooseModel(model, env), notes: notesInKv(env.CHAT_KV, user) }),
});

export default handler;

function chooseModel(name: string, { OPENAI_API_KEY: apiKey, OPENAI_MODEL: model, OPENAI_BASE_URL: baseURL }: Env): ChatModel {
  if (name !== 'edge' || !apiKey || !model) return offlineModel();
  return openai({ apiKey, model, ...(baseURL ? { baseURL } : {}) });
}

function notesInKv(kv: KVNamespace, user: string): NotesStore {
  const key = `notes:${encodeURIComponent(user)}`;
  return {
    read: async () => (await kv.get<readonly Note[]>(key, 'json')) ?? [],
    write: (notes) => kv.put(key, JSON.stringify(notes)),
  };
}
