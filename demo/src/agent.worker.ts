import './plain-zod.ts';
import { structured } from '@isoloop/core/output';
import type { ChatModel, JsonValue } from '@isoloop/core';
import { exposeAgent } from '@isoloop/web-worker/worker';
import { get, set } from 'idb-keyval';
import * as z from 'zod';
import { demoAgent } from './demo-agent.ts';
import { endpointModel } from './endpoint-model.ts';
import { invitation } from './invitation.ts';
import { keyFor } from './kept-key.ts';
import { offlineModel } from './offline-model.ts';
import { timesOf } from './pace.ts';
import { countRun, demoStore } from './tools/tool-runs.ts';

const choice = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('offline'), pace: z.enum(['real', 'fast']) }),
  z.object({
    kind: z.literal('endpoint'),
    baseURL: z.url(),
    model: z.string().min(1),
    apiKey: z.string(),
    keepsKey: z.boolean(),
    api: z.enum(['responses', 'chat']),
  }),
  z.object({ kind: z.literal('browser') }),
]);

type Choice = z.infer<typeof choice>;

exposeAgent(
  async ({ sessionId, memory, options, page }) => {
    const chosen = chosenModel(options);
    return demoAgent({
      sessionId,
      memory,
      model: chosen.kind === 'browser' ? page.model : await chatModel(chosen),
      notes: stored('notes', []),
      account: stored<number | undefined>('account', undefined),
      pace: chosen.kind === 'offline' ? chosen.pace : 'fast',
      pageTools: page.tools,
      onToolRun: countRun,
    });
  },
  { outputs: { invitation: structured(invitation) } },
);

function chosenModel(options: JsonValue | undefined): Choice {
  return choice.parse(options ?? { kind: 'offline', pace: 'fast' });
}

/** Builds the chosen model. */
async function chatModel(chosen: Exclude<Choice, { kind: 'browser' }>): Promise<ChatModel> {
  if (chosen.kind === 'offline') return offlineModel(timesOf(chosen.pace));
  return endpointModel({ ...chosen, apiKey: await keyFor(chosen) });
}

interface Stored<T> {
  read(): Promise<T>;
  write(value: T): Promise<void>;
}

function stored<T>(key: string, atFirst: T): Stored<T> {
  const store = demoStore();
  return {
    read: async () => (await get<T>(key, store)) ?? atFirst,
    write: (value) => set(key, value, store),
  };
}
