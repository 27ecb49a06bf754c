import { ReActAgent } from '@isoloop/core';
import { handOff } from '@isoloop/core/several';
import { ScriptedModel } from '@isoloop/core/testing';
import { exposeAgent, type WorkerAgentSetup } from '@isoloop/web-worker/worker';

export interface TeamOptions {
  readonly replies: ConstructorParameters<typeof ScriptedModel>[0];
}

const billing = {
  name: 'billing',
  description: 'Invoices and refunds.',
  systemPrompt: 'You are billing.',
};

/** An agent that can pass the conversation to another one. */
exposeAgent(
  ({ sessionId, memory, options }: WorkerAgentSetup<TeamOptions>) =>
    new ReActAgent({
      name: 'reception',
      systemPrompt: 'You are the reception.',
      sessionId,
      memory,
      model: new ScriptedModel(options.replies),
      use: [handOff({ to: [billing] })],
    }),
);
