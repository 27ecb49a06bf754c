import { expect, test } from 'vitest';
import { ScriptedModel } from '@isoloop/core/testing';
// #region hide-field
import type { AgentEvent, Middleware } from '@isoloop/core';

/** Hides a field of JSON texts, such as tool results, from readers. Model and log have it. */
export function hideField(field: string): Middleware {
  const pattern = new RegExp(`("${field}":\\s*)"[^"]*"`, 'g');
  const hide = (_key: string, value: unknown): unknown =>
    typeof value === 'string' ? value.replace(pattern, '$1"hidden"') : value;
  return {
    name: 'hideField',
    mapEvent: (event) => JSON.parse(JSON.stringify(event, hide)) as AgentEvent,
  };
}
// #endregion
import { ReActAgent, tool } from '@isoloop/core';

test('a middleware of your own hides a field from readers only', async () => {
  const account = tool({
    name: 'account',
    description: 'The account of the user.',
    input: { type: 'object', properties: {} },
    execute: () => ({ name: 'Ann', iban: 'DE75 5121 0800' }),
  });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'account' }] }, 'It is yours.']);
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
