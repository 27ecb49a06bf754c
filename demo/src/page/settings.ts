import * as z from 'zod';

/** Where the agent runs. */
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

/** Whom the agent asks. The key is not part of what is kept. */
export type ModelChoice = Readonly<z.infer<typeof modelChoice>>;

const schema = z.object({
  home: z.enum(['worker', 'edge']),
  /** One conversation for each home: they keep them in different places. */
  sessions: z.object({ worker: z.string(), edge: z.string() }),
  theme: z.enum(['light', 'dark', 'system']),
  endpoint: z.object({ baseURL: z.string(), model: z.string() }),
});

/** What of them is a tab's own. */
const place = schema.pick({ home: true, sessions: true });

export type Settings = z.infer<typeof schema>;

const key = 'isoloop-demo';

/**
 * A tab keeps to its own conversations when another begins new ones; a new tab has those of the tab
 * that was last changed.
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

/** Where storage is full or forbidden the page works on, and forgets. */
export function saveSettings(settings: Settings): void {
  try {
    localStorage.setItem(key, JSON.stringify(settings));
    sessionStorage.setItem(key, JSON.stringify(place.parse(settings)));
  } catch {
    // Nothing to tell: the conversation itself is not kept here.
  }
}
