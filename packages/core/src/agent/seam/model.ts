import type { LiveRun } from '../run/live-run.ts';
import { readReply } from '../step/read-reply.ts';
import type { Run } from './run.ts';
import { takeStep } from './take-step.ts';

export function modelOf(live: LiveRun): Run['model'] {
  const { provider, modelId, features } = live.model;
  return {
    provider,
    modelId,
    features,
    stream: (request, context) => live.alive().model.stream(request, context),
    ask: (request, toEvent = () => {}) => takeStep(live, () => readReply(live, request, toEvent)),
    addUsage: (usage) => live.alive().totals.addUsage(usage),
  };
}
