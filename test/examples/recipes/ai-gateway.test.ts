import { expect, test } from 'vitest';
import { redirectFetch } from '../redirect-fetch.ts';
// #region ai-gateway
import { ReActAgent } from '@isoloop/core';
import { openai } from '@isoloop/core/openai';
// #endregion

const apiKey = 'sk-test';
const gatewayToken = 'gateway-token';
const scripted = (body: object): Readonly<Record<string, unknown>> => ({
  ...body,
  script: ['Hello.'],
});

test('an agent behind AI Gateway sends the provider’s key and the gateway’s token', async () => {
  const gateway = 'https://gateway.ai.cloudflare.com/v1/ACCOUNT/GATEWAY';
  const sent = redirectFetch(gateway, '/scripted/v1', (body) => scripted(body));

  // #region ai-gateway
  const agent = new ReActAgent({
    name: 'assistant',
    model: openai({
      baseURL: 'https://gateway.ai.cloudflare.com/v1/ACCOUNT/GATEWAY/compat',
      apiKey, // of the provider
      model: 'anthropic/claude-sonnet-4-5', // provider/model
      headers: { 'cf-aig-authorization': `Bearer ${gatewayToken}` },
    }),
  });
  const { text } = await agent.call('Hello!');
  // #endregion

  expect(text).toBe('Hello.');
  expect(sent[0]?.url).toBe(`${gateway}/compat/chat/completions`);
  expect(sent[0]?.headers.get('authorization')).toBe('Bearer sk-test');
  expect(sent[0]?.headers.get('cf-aig-authorization')).toBe('Bearer gateway-token');
});
