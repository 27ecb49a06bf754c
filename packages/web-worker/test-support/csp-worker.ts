import { ReActAgent, tool } from '@isoloop/core';
import { joinTools } from '@isoloop/core/tool';
import { jsonSchema } from '@isoloop/core/schema';
import { ScriptedModel } from '@isoloop/core/testing';
import { exposeAgent } from '@isoloop/web-worker/worker';
import * as z from 'zod';

const canEval = (): boolean => {
  try {
    return new Function('return true')() as boolean;
  } catch {
    return false;
  }
};

const zod = tool({
  name: 'zod',
  description: 'x',
  input: z.object({ n: z.number() }),
  execute: () => (canEval() ? 'eval' : 'no eval'),
});
const plain = tool({
  name: 'plain',
  description: 'x',
  input: jsonSchema({ type: 'object', required: ['n'] }),
  execute: () => 'ran',
});

exposeAgent(({ page }) => {
  const toolCalls = [
    { name: 'zod', input: { n: 1 } },
    { name: 'zod', input: { n: 'x' } },
    { name: 'plain', input: {} },
    { name: 'page', input: { n: 1 } },
  ];
  return new ReActAgent({
    name: 'a',
    model: new ScriptedModel([{ toolCalls }, 'done']),
    tools: joinTools([zod, plain], page.tools),
  });
});
