import * as z from 'zod';

/** The place where the agent runs. */
export type Home = 'worker' | 'edge';

export const modelChoice = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('offline') }),
  z.object({
    kind: z.literal('endpoint'),
    baseURL: z.string(),
    model: z.string(),
    apiKey: z.string(),
  }),
  z.object({ kind: z.literal('edge') }),
]);

/** The model of the agent. The model's key is never stored. */
export type ModelChoice = Readonly<z.infer<typeof modelChoice>>;

const schema = z.object({
  home: z.enum(['worker', 'edge']),
  /** Ids of the two conversations. The worker and the edge store conversations separately. */
  sessions: z.object({ worker: z.string(), edge: z.string() }),
  theme: z.enum(['light', 'dark', 'system']),
  endpoint: z.object({ baseURL: z.string(), model: z.string() }),
});

/** The settings that belong to one tab. */
const place = schema.pick({ home: true, sessions: true });

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
      theme: 'system',
      endpoint: { baseURL: 'https://api.openai.com/v1', model: '' },
    };
  }
}

/** Saves the settings. If storage is full or forbidden, the page works without saving. */
export function saveSettings(settings: Settings): void {
  try {
    localStorage.setItem(key, JSON.stringify(settings));
    sessionStorage.setItem(key, JSON.stringify(place.parse(settings)));
  } catch {
    // Ignores the error, because the conversation itself is stored elsewhere.
  }
}
