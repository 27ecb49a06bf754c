import { expect, test } from 'vitest';
import { profileFor } from './profile-for.ts';
import * as profiles from './profiles.ts';

const names: Readonly<Record<string, string>> = {
  o200k:
    'gpt-4o gpt-4o-mini gpt-4o-2024-11-20 chatgpt-4o-latest gpt-4.1 gpt-4.1-nano gpt-41-mini gpt-4-1-mini gpt-4.5-preview gpt-5 ' +
    'gpt-5-mini gpt-5.1-codex gpt-oss-120b codex-mini-latest gpt-realtime o1 o1-preview o3-mini o3 o4-mini openai/gpt-5-mini ' +
    'openai/o3 openai:o4-mini azure/gpt-4o openai.gpt-oss-20b-1:0 kimi-k2-thinking moonshotai/kimi-k2 moonshot-v1-8k GPT-5',
  cl100k:
    'gpt-4 gpt-4-turbo gpt-4-0613 gpt-4-1106-preview gpt-4-32k gpt-4-vision-preview gpt-3.5-turbo gpt-35-turbo openai/gpt-4',
  qwen3:
    'qwen3-max qwen-plus qwen2.5-72b-instruct qwen3:8b qwen/qwen3-coder Qwen/Qwen3-235B-A22B qwq-32b qvq-max glm-4.5 zai-org/GLM-4.6 ' +
    'deepseek-ai/DeepSeek-R1-Distill-Qwen-32B @cf/qwen/qwq-32b',
  llama3:
    'llama-3.3-70b-versatile llama3.1 meta-llama/Llama-3.1-8B-Instruct meta.llama3-1-70b-instruct-v1:0 llama-4-scout ' +
    'accounts/fireworks/models/llama-v3p1-405b-instruct @cf/meta/llama-3.1-8b-instruct deepseek-r1-distill-llama-70b ' +
    'nvidia/llama-3.1-nemotron-70b-instruct',
  deepseek3:
    'deepseek-chat deepseek-reasoner deepseek-v3.2 deepseek-ai/DeepSeek-R1 deepseek.r1-v1:0 deepseek/deepseek-chat-v3.1:free',
  gemma3:
    'gemini-2.5-pro models/gemini-2.5-flash google/gemini-3-pro-preview gemini-1.5-flash-8b gemma-3-27b-it gemma3:4b',
  mistral:
    'mistral-large-latest mistral-small-2506 open-mistral-nemo ministral-8b magistral-medium pixtral-12b pixtral-large codestral-latest ' +
    'devstral-small voxtral-mini mistralai/Mistral-Nemo-Instruct-2407 mistral.mistral-large-2407-v1:0',
  claude3:
    'claude-3-opus-20240229 claude-3-5-sonnet-20241022 claude-3-7-sonnet-latest claude-sonnet-4-20250514 claude-opus-4 claude-opus-4-1 ' +
    'claude-opus-4-1-20250805 claude-sonnet-4-5 claude-haiku-4-5-20251001 claude-opus-4.6 anthropic/claude-sonnet-4.5 claude-sonnet-4@20250514 ' +
    'anthropic.claude-3-5-sonnet-20241022-v2:0 us.anthropic.claude-sonnet-4-20250514-v1:0 claude-2.1 claude-instant-1.2',
  claude5:
    'claude-opus-4-7 claude-opus-4.7 claude-opus-4-8-20260501 claude-opus-4-10 claude-opus-5 claude-sonnet-5 claude-sonnet-5-20260801 ' +
    'anthropic.claude-opus-5-v1:0 anthropic/claude-opus-5 claude-latest claude',
  grok: 'grok-3 grok-4-fast xai/grok-4 x-ai/grok-code-fast-1',
  generic:
    'mistralai/Mixtral-8x7B-Instruct-v0.1 mistral-7b-instruct llama-2-70b-chat meta-llama/Llama-2-7b llama2 codellama-34b command-r-plus ' +
    'amazon.nova-pro-v1:0 phi-3-mini sonar-pro ernie-4.0 foo1 proto3 my-model',
};
const rows = Object.entries(names).flatMap(([profile, ids]) =>
  ids.split(' ').map((id) => [id, profile] as const),
);

test.for(rows)('profileFor() gives the model %s the profile %s', ([id, name]) => {
  expect(profileFor(id).name).toBe(name);
});

test('returns the exported profiles, and the same object each time', () => {
  for (const [id, profile] of [
    ['gpt-5', profiles.o200k],
    ['claude-opus-5', profiles.claude5],
    ['', profiles.generic],
  ] as const) {
    expect(profileFor(id)).toBe(profile);
  }
  expect(profileFor('grok-4')).toBe(profileFor('grok-3'));
  expect(Object.entries(profiles).map(([name, profile]) => [name, profile.name])).toEqual(
    Object.keys(profiles).map((name) => [name, name]),
  );
});

test('accepts a long name', () => {
  expect(profileFor('claude'.repeat(100_000)).name).toBe('claude5');
  expect(profileFor('llama-'.repeat(100_000)).name).toBe('llama3');
});
