import { tool, toolResultsOf } from '@isoloop/core';
import { connectAgent, pageTools } from '@isoloop/web-worker';
import * as z from 'zod';

/** A tool that runs on this page, under the Content Security Policy of the test. */
const onPage = tool({
  name: 'page',
  description: 'x',
  input: z.object({ n: z.number() }),
  execute: ({ n }) => `page ${n}`,
});
const policy = new URL(import.meta.url).search;

async function run(): Promise<unknown> {
  const worker = new Worker(`/packages/web-worker/test-support/csp-worker.ts${policy}`, {
    type: 'module',
  });
  const agent = connectAgent(worker, { sessionId: 's', page: [pageTools([onPage])] });
  await agent.call('go');
  const results = (await agent.messages())
    .flatMap(toolResultsOf)
    .toSorted((a, b) => a.toolUseId.localeCompare(b.toolUseId));
  const outputs = results.map(({ output }) => output);
  agent.terminate();
  return { outputs, blocked: await codeOf(new Worker(URL.createObjectURL(new Blob([])))) };
}

/** Calls an agent in a worker that the policy blocks. Returns the code of the error. */
async function codeOf(worker: Worker): Promise<unknown> {
  try {
    return await connectAgent(worker, { sessionId: 's' }).call('go');
  } catch (error) {
    return (error as { readonly code?: unknown }).code;
  }
}

run().then(
  (answer) => parent.postMessage(answer, '*'),
  (error: unknown) => parent.postMessage(String(error), '*'),
);
