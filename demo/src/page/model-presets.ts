/** A server with an OpenAI-compatible API, and what it needs. */
export interface ModelPreset {
  readonly name: string;
  readonly baseURL: string;
  readonly model: string;
  /** Which of OpenAI's two interfaces to use. */
  readonly api: 'responses' | 'chat';
  /** What it needs for requests from a page. `origin`: that of the page. */
  readonly needs: (origin: string) => string;
}

export const modelPresets: readonly ModelPreset[] = [
  {
    name: 'OpenAI',
    baseURL: 'https://api.openai.com/v1',
    model: 'gpt-5-mini',
    api: 'responses',
    needs: () => 'Needs a key. Uses the Responses API.',
  },
  {
    name: 'OpenRouter',
    baseURL: 'https://openrouter.ai/api/v1',
    model: 'openai/gpt-5-mini',
    api: 'chat',
    needs: () => 'Needs a key of OpenRouter.',
  },
  {
    name: 'Ollama',
    baseURL: 'http://127.0.0.1:11434/v1',
    model: 'qwen3',
    api: 'chat',
    needs: (origin) =>
      `Needs Ollama on this machine, started with OLLAMA_ORIGINS=${origin}. No key.`,
  },
  {
    name: 'LM Studio',
    baseURL: 'http://127.0.0.1:1234/v1',
    model: 'qwen/qwen3-8b',
    api: 'chat',
    needs: () => 'Needs LM Studio’s local server with CORS switched on. No key.',
  },
];
