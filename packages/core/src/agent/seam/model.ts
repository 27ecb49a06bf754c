import type { ChatModel, ModelRequest, Usage } from '../../model/chat-model.ts';
import type { LiveRun } from '../run/live-run.ts';
import { readReply, type AskResult, type ToEvent } from '../step/read-reply.ts';
import { step } from './step.ts';

/** The agent's model, and further requests to it. */
export interface RunModel extends ChatModel {
  /** Always that of the agent's own model, also after a fallback. Works everywhere. */
  readonly provider: string;
  /** Always that of the agent's own model, also after a fallback. Works everywhere. */
  readonly modelId: string;
  /** What the model can do, inside the `wrapModel` of all middleware. Works everywhere. */
  readonly features: ChatModel['features'];
  /**
   * The stream of the model inside the `wrapModel` of all middleware, for code that takes a
   * `ChatModel`. Pass the run in `context.run`, and its usage to `addUsage()`. Otherwise use
   * `ask()`. Works in wrappers, hooks and tools.
   */
  stream(...args: Parameters<ChatModel['stream']>): ReturnType<ChatModel['stream']>;
  /**
   * Sends one extra model request. It does not count as an iteration, and its messages are not
   * stored. Readers get nothing of the reply, unless `toEvent` returns an event for a piece of it.
   * An abort then stores the reply, as readers have it. The request passes the `wrapModel` of all
   * middleware, so ask `next` instead in a `wrapModel`. Works in wrappers, hooks and tools.
   */
  ask(request: ModelRequest, toEvent?: ToEvent): Promise<AskResult>;
  /**
   * Adds the usage of a middleware's own request to another model to the usage of the agent call.
   * Works in wrappers, hooks and tools.
   */
  addUsage(usage: Usage | undefined): void;
}

/** Returns the model of a run. */
export function modelOf(run: LiveRun): RunModel {
  const { provider, modelId, features } = run.model;
  return {
    provider,
    modelId,
    features,
    stream: (request, context) => run.alive().model.stream(request, context),
    ask: (request, toEvent = () => {}) => step(run, () => readReply(run, request, toEvent)),
    addUsage: (usage) => run.alive().totals.addUsage(usage),
  };
}
