import * as z from 'zod/mini';

/** The place where the agent runs. */
export type Home = 'worker' | 'edge';

export const modelChoice = z.discriminatedUnion('kind', [
  /** `pace`: see `pace.ts`. */
  z.object({ kind: z.literal('offline'), pace: z.enum(['real', 'fast']) }),
  z.object({
    kind: z.literal('endpoint'),
    baseURL: z.string(),
    model: z.string(),
    /** Empty if the worker keeps the key, and after a reload. */
    apiKey: z.string(),
    /** Whether the worker keeps the key in its own database. */
    keepsKey: z.boolean(),
    api: z.enum(['responses', 'chat']),
  }),
  /** The model of the browser (Prompt API). */
  z.object({ kind: z.literal('browser') }),
  /** An endpoint whose key is gone. Nothing answers until the user enters the key again. */
  z.object({
    kind: z.literal('locked'),
    baseURL: z.string(),
    model: z.string(),
    api: z.enum(['responses', 'chat']),
  }),
  z.object({ kind: z.literal('edge') }),
]);

/** The model of the agent. The page never stores its key. */
export type ModelChoice = Readonly<z.infer<typeof modelChoice>>;

/** The offline model. The address of the page can choose its pace: `?pace=fast`. */
export function offlineChoice(): ModelChoice {
  const isFast = new URLSearchParams(location.search).get('pace') === 'fast';
  return { kind: 'offline', pace: isFast ? 'fast' : 'real' };
}

const schema = z.object({
  home: z.enum(['worker', 'edge']),
  /** Id of the conversation in each place. A move gives both the same id. */
  sessions: z.object({ worker: z.string(), edge: z.string() }),
  models: z.object({ worker: modelChoice, edge: modelChoice }),
  theme: z.enum(['light', 'dark', 'system']),
  endpoint: z.object({
    baseURL: z.string(),
    model: z.string(),
    api: z.enum(['responses', 'chat']),
  }),
});

/** The settings that belong to one tab. */
const place = z.pick(schema, { home: true, sessions: true, models: true });

export type Settings = z.infer<typeof schema>;

const key = 'isoloop-demo';

/**
 * Loads the settings. A tab keeps its conversations when another tab starts new conversations. A
 * new tab uses the conversations of the tab that saved last.
 */
export function loadSettings(): Settings {
  try {
    const settings = schema.parse(JSON.parse(localStorage.getItem(key) ?? ''));
    const own = place.safeParse(JSON.parse(sessionStorage.getItem(key) ?? 'null'));
    return { ...settings, ...own.data };
  } catch {
    return {
      home: 'worker',
      sessions: { worker: crypto.randomUUID(), edge: crypto.randomUUID() },
      models: { worker: offlineChoice(), edge: offlineChoice() },
      theme: 'system',
      endpoint: { baseURL: '', model: '', api: 'chat' },
    };
  }
}

/**
 * Saves the settings, without the models' keys. If storage is full or forbidden, the page works
 * without saving.
 */
export function saveSettings(settings: Settings): void {
  const { worker, edge } = settings.models;
  const stored = { ...settings, models: { worker: withoutKey(worker), edge: withoutKey(edge) } };
  try {
    localStorage.setItem(key, JSON.stringify(stored));
    sessionStorage.setItem(key, JSON.stringify(place.parse(stored)));
  } catch {
    // Ignores the error, because the conversation itself is stored elsewhere.
  }
}

function withoutKey(choice: ModelChoice): ModelChoice {
  if (choice.kind !== 'endpoint' || !choice.apiKey) return choice;
  if (choice.keepsKey) return { ...choice, apiKey: '' };
  return { kind: 'locked', baseURL: choice.baseURL, model: choice.model, api: choice.api };
}
