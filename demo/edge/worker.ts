import { openai } from '@isoloop/core/openai';
import type { ChatModel } from '@isoloop/core';
import { createAgentHandler, type AgentHandler } from '@isoloop/edge';
import { sessionMoves } from '@isoloop/edge/move';
import { openAiRoutes } from '@isoloop/openai-api';
import { demoAgent } from '../src/demo-agent.ts';
import { offlineModel } from '../src/offline-model.ts';
import { timesOf, type Pace } from '../src/pace.ts';
import type { Note } from '../src/tools/notes.ts';
import { answerDocs, type DocsEnv } from './docs.ts';
import { answerHook, countedSession, type ToolCounter } from './test-hooks.ts';

export interface Env extends ToolCounter, DocsEnv {
  /** Stores the notes and the play money. Each conversation is stored in a Durable Object. */
  readonly CHAT_KV: KVNamespace;
  readonly CHAT_SESSION: DurableObjectNamespace;
  /**
   * Name of the model for requests with `model: 'edge'`. Without it, only the offline model is
   * available.
   */
  readonly OPENAI_MODEL?: string;
  /**
   * Key of the model's server. It never leaves the Worker. Set it with `wrangler secret put
   * OPENAI_API_KEY`.
   */
  readonly OPENAI_API_KEY?: string;
  /** Address of the model's server. Default: OpenAI's. */
  readonly OPENAI_BASE_URL?: string;
}

/** The offline model at the pace of a real one. */
const realPace = 'offline-real-pace';

const offlineOnly = demoHandler(['offline', realPace]);
const withModel = demoHandler(['offline', realPace, 'edge']);

/**
 * The Durable Object of a conversation. A handler validates each request before it sends the
 * request here, so both handlers can share this class.
 */
export const ChatSession: typeof withModel.Session = countedSession(withModel.Session);

export default {
  fetch: async (request, env, context) => {
    const answer = (await answerDocs(request, env)) ?? (await answerHook(request, env));
    return answer ?? (env.OPENAI_MODEL ? withModel : offlineOnly).fetch(request, env, context);
  },
} satisfies ExportedHandler<Env>;

/**
 * Builds the handler. Without `authorize`, it only answers requests to localhost. Add your own
 * `authorize` before you deploy.
 */
function demoHandler(models: readonly string[]): AgentHandler<Env> {
  return createAgentHandler<Env>({
    models,
    openai: openAiRoutes(),
    moves: sessionMoves(),
    // The prompts of this demo contain nothing that its visitors may not see.
    inspect: () => true,
    agent: ({ env, sessionId, user, memory, model }) =>
      demoAgent({
        sessionId,
        memory,
        model: chooseModel(model, env),
        notes: inKv<readonly Note[]>(env.CHAT_KV, 'notes', user, []),
        account: inKv<number | undefined>(env.CHAT_KV, 'account', user, undefined),
        pace: paceOf(model),
        ...(env.countRun && { onToolRun: env.countRun }),
      }),
  });
}

function chooseModel(
  name: string,
  { OPENAI_API_KEY: apiKey, OPENAI_MODEL: model, OPENAI_BASE_URL: baseURL }: Env,
): ChatModel {
  if (name !== 'edge' || !model) return offlineModel(timesOf(paceOf(name)));
  return openai({ model, ...(apiKey ? { apiKey } : {}), ...(baseURL ? { baseURL } : {}) });
}

function paceOf(name: string): Pace {
  return name === realPace ? 'real' : 'fast';
}

interface Stored<T> {
  read(): Promise<T>;
  write(value: T): Promise<void>;
}

function inKv<T>(kv: KVNamespace, what: string, user: string, atFirst: T): Stored<T> {
  const key = `${what}:${encodeURIComponent(user)}`;
  return {
    read: async () => (await kv.get<T>(key, 'json')) ?? atFirst,
    write: (value) => kv.put(key, JSON.stringify(value)),
  };
}
