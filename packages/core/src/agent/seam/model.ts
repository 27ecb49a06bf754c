import type { LiveRun } from '../run/live-run.ts';
import { readReply } from '../step/read-reply.ts';
import type { Run } from './run.ts';
import { takeStep } from './take-step.ts';

/** Returns the group `run.model`. */
export function modelOf(run: LiveRun): Run['model'] {
  const { provider, modelId, features } = run.model;
  return {
    provider,
    modelId,
    features,
    stream: (request, context) => run.alive().model.stream(request, context),
    ask: (request, toEvent = () => {}) => takeStep(run, () => readReply(run, request, toEvent)),
    addUsage: (usage) => run.alive().totals.addUsage(usage),
  };
}
