import { ReActAgent } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { bearerToken, createAgentHandler, type AgentHandler } from '@isoloop/edge';
import { llmProxy } from '@isoloop/edge/llm';

interface Env {
  /** Origins of the pages that may use the model proxy. */
  readonly PAGE_ORIGIN: string;
  readonly USER_TOKEN: string;
  readonly MODEL_KEY: string;
  readonly MODEL_SERVER: string;
}

let handler: AgentHandler<Env> | undefined;

export default {
  fetch(request: Request, env: Env, context: never): Response | Promise<Response> {
    handler ??= createAgentHandler<Env>({
      agent: () => new ReActAgent({ name: 'unused', model: new ScriptedModel([]) }),
      cors: [env.PAGE_ORIGIN],
      authorize: bearerToken(({ USER_TOKEN }) => ({ ann: USER_TOKEN })),
      llm: llmProxy<Env>({
        models: ['scripted', 'echo', 'deltas/500', 'fault/401'],
        upstream: ({ env: { MODEL_SERVER, MODEL_KEY }, model }) => ({
          baseURL: `${MODEL_SERVER}/${model}/v1`,
          apiKey: MODEL_KEY,
        }),
      }),
    });
    return handler.fetch(request, env, context);
  },
};
