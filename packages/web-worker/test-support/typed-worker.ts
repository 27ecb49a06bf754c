import { ReActAgent } from '@isoloop/core';
import { structured } from '@isoloop/core/output';
import { ScriptedModel, type ScriptedStep } from '@isoloop/core/testing';
import { exposeAgent, type WorkerAgentSetup } from '@isoloop/web-worker/worker';
import * as z from 'zod';

export interface TypedOptions {
  readonly replies: readonly (string | ScriptedStep)[];
}

const invoice = z.object({
  total: z.number(),
  due: z.iso.date().transform((text) => new Date(text)),
});

const makeAgent = ({ sessionId, options }: WorkerAgentSetup<TypedOptions>): ReActAgent =>
  new ReActAgent({ name: 'typed', sessionId, model: new ScriptedModel(options.replies) });

/** The exposed agents. Pages import their type. */
const agents = exposeAgent(
  { clerk: makeAgent, auditor: makeAgent },
  {
    outputs: {
      invoice: structured(invoice),
      names: structured(z.array(z.string())),
      // A function cannot be cloned.
      check: structured(
        z.object({ n: z.number() }).transform(
          ({ n }) =>
            () =>
              n,
        ),
      ),
    },
  },
);

export type TypedAgents = typeof agents;
