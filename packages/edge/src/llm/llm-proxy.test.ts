import { expect, test } from 'vitest';
import { llmProxy } from './llm-proxy.ts';

test.each([{ maxTokens: NaN }, { maxTokens: 0 }, { timeoutMs: NaN }, { timeoutMs: '5000' }])(
  'llmProxy() rejects a limit that would have no effect: %j',
  (limits) => {
    const options = { models: [], upstream: () => ({}), ...limits };
    expect(() => llmProxy(options as never)).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION' }),
    );
  },
);
