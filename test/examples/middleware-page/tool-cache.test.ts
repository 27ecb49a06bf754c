import { expect, test } from 'vitest';
import { ScriptedModel } from '@isoloop/core/testing';
// #region tool-cache
import { ReActAgent, tool, type Middleware, type ToolResult } from '@isoloop/core';
import { hasResult } from '@isoloop/core/tool';

/** Gives equal calls of these tools the result of the first one. */
export function toolCache(names: readonly string[]): Middleware {
  const results = new Map<string, ToolResult>(); // for all agents with this middleware
  return {
    name: 'toolCache',
    async wrapTool(call, next) {
      if (!names.includes(call.tool.name)) return next(call);
      const key = JSON.stringify([call.tool.name, call.input]);
      const known = results.get(key);
      if (known) return known; // gets the id of this call
      const outcome = await next(call);
      if (hasResult(outcome) && outcome.state === 'success') results.set(key, outcome);
      return outcome;
    },
  };
}
// #endregion

test('a middleware of your own caches the results of tools', async () => {
  let requests = 0;
  const weather = tool({
    name: 'weather',
    description: 'Weather of a city.',
    input: { type: 'object', properties: { city: { type: 'string' } } },
    execute: () => `request ${++requests}`,
  });
  const call = { toolCalls: [{ name: 'weather', input: { city: 'Rome' } }] };
  const model = new ScriptedModel([call, call, 'Sunny.']);
  const use = [toolCache(['weather'])];
  await new ReActAgent({ name: 'guide', model, tools: [weather], use }).call('Rome?');
  expect(requests).toBe(1);

  model.assertDone();
  const { messages } = model.requests[2]!;
  const results = messages.flatMap(({ content }) =>
    content.flatMap((block) => (block.type === 'tool_result' ? [block.output] : [])),
  );
  expect(results).toEqual(['request 1', 'request 1']);
});
