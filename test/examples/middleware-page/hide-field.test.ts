import { expect, test } from 'vitest';
import { ScriptedModel } from '@isoloop/core/testing';
// #region hide-field
import { ReActAgent, tool, type AgentEvent, type Middleware } from '@isoloop/core';

/** Hides a field of JSON texts from readers: in results and arguments of tools. */
export function hideField(field: string): Middleware {
  const text = new RegExp(`("${field}":\\s*)"(?:[^"\\\\]|\\\\.)*"`, 'g');
  const hide = (key: string, value: unknown): unknown => {
    if (key === field) return 'hidden';
    return typeof value === 'string' ? value.replace(text, '$1"hidden"') : value;
  };
  return {
    name: 'hideField',
    mapEvent(event) {
      // A delta has a piece of the arguments. Readers get all of them with `pre-acting`.
      if (event.type === 'tool-input-chunk') return { ...event, delta: '' };
      return JSON.parse(JSON.stringify(event, hide)) as AgentEvent;
    },
  };
}
// #endregion

test('a middleware of your own hides a field from readers only', async () => {
  const account = tool({
    name: 'account',
    description: 'The account of the user.',
    input: { type: 'object', properties: { iban: { type: 'string' } } },
    execute: () => ({ name: 'Ann "A"', iban: 'DE75 "5121" 0800' }),
  });
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'account', input: { iban: 'DE75 9' } }] },
    'It is yours.',
  ]);
  const agent = new ReActAgent({
    name: 'bank',
    model,
    tools: [account],
    use: [hideField('iban')],
  });
  const seen: string[] = [];
  for await (const event of agent.stream('Whose account is it?')) seen.push(JSON.stringify(event));
  expect(seen.filter((event) => event.includes('DE75'))).toEqual([]);
  expect(JSON.stringify(model.requests[1])).toContain('DE75');
  expect(seen.some((event) => event.includes('hidden'))).toBe(true);
  expect(JSON.stringify(await agent.messages())).toContain('DE75');
});
