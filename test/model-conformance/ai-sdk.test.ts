import * as vitest from 'vitest';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { fromAiSdk, type AiSdkLanguageModel } from '@isoloop/core/ai-sdk';
import { modelConformance } from '@isoloop/core/testing';
import {
  anthropicWire,
  chatCompletions,
  googleWire,
  responsesWire,
  type WireFormat,
} from '../support/wire-formats.ts';
import { rulesOf, type RequestWire } from '../request-rules/broken-rules.ts';
import { extent } from '../test-extent.ts';
import { startModelServer } from './model-server.ts';

const server = await startModelServer();
vitest.afterAll(() => server.close());

type Row = readonly [
  name: string,
  open: (baseURL: string) => AiSdkLanguageModel,
  wire: WireFormat,
  rules: RequestWire,
];

const apiKey = 'k';
const rows: readonly Row[] = [
  [
    '@ai-sdk/openai',
    (baseURL) => createOpenAI({ apiKey, baseURL })('gpt-5'),
    responsesWire,
    'responses',
  ],
  [
    '@ai-sdk/openai and chat completions',
    (baseURL) => createOpenAI({ apiKey, baseURL }).chat('gpt-4.1'),
    // The package does not read thinking in chat completions.
    (reply) => (reply.thinking ? undefined : chatCompletions(reply)),
    'chat-completions',
  ],
  [
    '@ai-sdk/anthropic',
    (baseURL) => createAnthropic({ apiKey, baseURL })('claude-sonnet-4-5'),
    anthropicWire,
    'json',
  ],
  [
    '@ai-sdk/google',
    (baseURL) => createGoogle({ apiKey, baseURL })('gemini-2.5-pro'),
    googleWire,
    'json',
  ],
];

for (const [name, open, wire, rules] of rows)
  modelConformance(vitest, `fromAiSdk() with ${name}`, {
    model: (fetch) => fromAiSdk(open(server.urlFor(fetch))),
    wire,
    rules: rulesOf(rules),
    maxSplits: extent({ quick: 100, full: Infinity }),
  });
