import { expect, test } from 'vitest';
import { callIdFitter, type FitCallId } from './call-ids.ts';
import { serverRulesOf } from './server-rules.ts';

/** `server`: the host and the model, with a blank between them. */
function fitterOf(server: string): FitCallId {
  const [host = '', model = ''] = server.split(' ');
  return callIdFitter(serverRulesOf(host, model).callIds);
}

const foreignIds = [
  'functions.w:0',
  'x'.repeat(65),
  'call_a1B2c3D4e5F6g7H8',
  '呼び出し',
  '',
  'a|b',
];
const ownIds: readonly (readonly [server: string, id: string])[] = [
  ['api.mistral.ai mistral-small-latest', 'D681PevKs'],
  ['api.openai.com gpt-5-mini', 'call_a1B2c3D4e5F6g7H8'],
  ['anthropic.messages claude-sonnet-5', 'toolu_01A09q90qw90lq917835lq9'],
  ['api.moonshot.ai kimi-k2.5', 'functions.weather:0'],
  // LiteLLM puts the thought signature of Gemini into the id.
  ['localhost:4000 gemini-3-pro', `call_1__thought__${'QUJD'.repeat(100)}`],
];
const servers: readonly (readonly [server: string, form: RegExp])[] = [
  ['api.mistral.ai mistral-small-latest', /^[a-zA-Z0-9]{9}$/],
  ['localhost:8000 mistralai/Devstral-Small-2507', /^[a-zA-Z0-9]{9}$/],
  ['openrouter.ai mistralai/mixtral-8x22b', /^[a-zA-Z0-9]{9}$/],
  ['localhost:1234 ministral-3b', /^[a-zA-Z0-9]{9}$/],
  ['mistral.chat codestral-latest', /^[a-zA-Z0-9]{9}$/],
  ['api.openai.com gpt-5-mini', /^[\w-]{1,40}$/],
  ['x.openai.azure.com my-deployment', /^[\w-]{1,40}$/],
  ['/llm/v1 gpt-5-mini', /^[\w-]{1,40}$/],
  ['openrouter.ai anthropic/claude-sonnet-5', /^[\w-]{1,40}$/],
  ['amazon-bedrock us.anthropic.claude-sonnet-5', /^[\w-]{1,40}$/],
  ['127.0.0.1:8080 any', /^[\w.:-]{1,64}$/],
  ['DashScope', /^[\w.:-]{1,64}$/],
];

test.each(servers)('ids of other servers fit %s', (server, form) => {
  const fit = fitterOf(server);
  const fittedIds = foreignIds.map(fit);
  for (const id of fittedIds) expect(id).toMatch(form);
  expect(new Set(fittedIds).size).toBe(foreignIds.length);
  expect(foreignIds.map(fitterOf(server))).toEqual(fittedIds);
});

test.each(ownIds)('%s gets its own id unchanged: %s', (server, id) => {
  expect(fitterOf(server)(id)).toBe(id);
});

test('an empty id is no id for any server', () => {
  for (const server of ['DashScope', ...servers.map(([name]) => name)])
    expect(fitterOf(server)('')).toMatch(/^[\w-]{9,}$/);
});

test('10,000 ids stay different in nine characters', () => {
  const fit = fitterOf('api.mistral.ai m');
  const ids = Array.from({ length: 10_000 }, (_, index) => fit(`functions.w:${index}`));
  expect(new Set(ids).size).toBe(ids.length);
});
