import * as z from 'zod';

/** Where the agent runs. */
export type Home = 'worker' | 'edge';

/** Whom the agent asks. The key is not part of what is kept. */
export type ModelChoice =
  | { readonly kind: 'offline' }
  | { readonly kind: 'endpoint'; readonly baseURL: string; readonly model: string; readonly apiKey: string }
  | { readonly kind: 'edge' };

const schema = z.object({
  home: z.enum(['worker', 'edge']),
  /** One conversation for each home: they keep them in different places. */
  sessions: z.object({ worker: z.string(), edge: z.string() }),
  theme: z.enum(['light', 'dark', 'system']),
  endpoint: z.object({ baseURL: z.string(), model: z.string() }),
});

export type Settings = z.infer<typeof schema>;

const key = 'isoloop-demo';

export function loadSettings(): Settings {
  try {
    return schema.parse(JSON.parse(localStorage.getItem(key) ?? ''));
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
  } catch {
    // Nothing to tell: the conversation itself is not kept here.
  }
}
