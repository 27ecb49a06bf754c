import * as z from 'zod';
import { tool, toolResultsOf, type JsonValue, type Msg } from '@isoloop/core';
import type { ScriptedStep } from '@isoloop/core/testing';
import { connectAgent, type ConnectOptions, type RemoteAgent } from '@isoloop/web-worker';
import { onTestFinished } from 'vitest';
import type { PageFixtureOptions } from './page.ts';

type Connect = (options?: PageFixtureOptions, more?: Partial<ConnectOptions>) => RemoteAgent;

/** Starts the worker of `page.ts`, which ends with the test. */
export function startPageWorker(): { readonly worker: Worker; readonly connect: Connect } {
  const worker = new Worker(new URL('./page.ts', import.meta.url), {
    type: 'module',
  });
  onTestFinished(() => worker.terminate());
  // Workers with one session id are tabs and share an agent, so each worker gets an id of its own.
  let sessionId: string = crypto.randomUUID();
  return {
    worker,
    connect: (options = {}, more = {}) => {
      sessionId = options.database ?? sessionId;
      const agent = connectAgent(worker, {
        timeoutMs: 120_000,
        agent: 'main',
        sessionId,
        options,
        ...more,
      });
      // A worker that ends while it starts cannot tell it.
      onTestFinished(() => agent.close());
      return agent;
    },
  };
}

/** Returns the outputs of all tool results. */
export const toolOutputs = (messages: readonly Msg[]): readonly JsonValue[] =>
  messages.flatMap(toolResultsOf).map(({ output }) => output as JsonValue);

/** Returns the replies of a model that calls a tool once. */
export const calls = (
  name: string,
  input: JsonValue = {},
  then = 'done',
): readonly (string | ScriptedStep)[] => [{ toolCalls: [{ name, input }] }, then];

/** Never settles. */
export const forever = (): Promise<never> => new Promise(() => {});

/** Tool of the page that sets its title. */
export const title = tool({
  name: 'title',
  description: 'Sets the title',
  input: z.object({
    text: z.string().max(5),
    at: z.iso
      .date()
      .transform((text) => new Date(text))
      .optional(),
  }),
  execute: ({ text, at }, { emit }) => {
    emit({ setting: text });
    document.title = text;
    return `${location.protocol} ${at instanceof Date ? at.getUTCFullYear() : ''}`.trim();
  },
});
