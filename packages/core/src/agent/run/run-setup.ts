import { namedFailure } from '../../error/agent-error.ts';
import { checkFields } from '../../error/options/check-fields.ts';
import { chatModel } from '../../model/model-kind.ts';
import type { AgentStatus } from '../../event/agent-status.ts';
import type { ExtendedMemory, LogMemory } from '../../memory/memory.ts';
import type { KeptConversation } from '../../message/conversation/conversation.ts';
import type { SystemMessages } from '../../message/conversation/system-message.ts';
import { wrapperModel, boundedModel } from '../../model/reply/bounded-model.ts';
import type { ChatModel } from '../../model/chat-model.ts';
import { toolsBefore, type ToolSet } from '../../tool/set/tool-set.ts';
import type { AgentSettings } from '../kernel-options.ts';
import type { Middleware } from '../middleware.ts';

/** What all runs of an agent share. */
export interface AgentBase {
  readonly sessionId: string;
  readonly options: AgentSettings;
  readonly memory: ExtendedMemory;
  /** The memory, if it has a log of the session. */
  readonly log: LogMemory | undefined;
  /** The agent's copy of the tools in its options, without those of middleware. */
  readonly ownTools: ToolSet;
  readonly status: AgentStatus;
  readonly systemMessages: SystemMessages;
  /** The conversation of the last run over this memory. */
  readonly keptConversation: KeptConversation;
  /**
   * Writes of earlier agent calls that the store has not finished. The next agent call waits for
   * them.
   */
  readonly unwritten: Set<Promise<unknown>>;
}

/** What the runs with the same middleware share. */
export interface RunSetup extends AgentBase {
  /** All middleware in one flat list, without replaced middleware. */
  readonly use: readonly Middleware[];
  /** The tools of the middleware, then the agent's own. */
  readonly tools: ToolSet;
  /** The model inside the wrappers of all middleware. */
  readonly model: ChatModel;
  /** The middleware with each of these members, once a run has needed it. */
  readonly members: Partial<Record<keyof Middleware, readonly Middleware[]>>;
}

/** Throws `CONFIGURATION` if a `wrapModel` does not return a model. */
export function runSetup(base: AgentBase, use: readonly Middleware[]): RunSetup {
  const added = use.flatMap(({ tools = [] }) => tools);
  return {
    ...base,
    use,
    tools: added.length ? toolsBefore(base.ownTools, added) : base.ownTools,
    model: wrappedModel(base.options, use),
    members: {},
  };
}

/** Returns the middleware that has this member. */
export function middlewareWith(setup: RunSetup, key: keyof Middleware): readonly Middleware[] {
  return (setup.members[key] ??= setup.use.filter((middleware) => middleware[key]));
}

/** Names a member of a middleware, for errors. */
export function memberName(key: keyof Middleware, { name = 'unnamed' }: Middleware): string {
  return `${key}() of "${name}"`;
}

function wrappedModel(
  { model, limits, monotonicNow: now }: AgentSettings,
  use: readonly Middleware[],
): ChatModel {
  // Replies are measured inside the wrappers, because one may collect a whole reply.
  const inner = boundedModel(model, { now, replyLength: limits.replyLength });
  return use.reduceRight((next, middleware) => {
    if (!middleware.wrapModel) return next;
    const who = memberName('wrapModel', middleware);
    const result = modelInside(middleware.wrapModel.bind(middleware), next, who);
    checkFields(who, { result }, { result: chatModel });
    // If the wrapper hangs after an abort, the outer wrappers still end.
    return wrapperModel(result, who);
  }, inner);
}

/** Calls `wrapModel` of a middleware. An error that is not an `AgentError` gets its name. */
function modelInside(
  wrap: (next: ChatModel) => ChatModel,
  next: ChatModel,
  who: string,
): ChatModel {
  try {
    return wrap(next);
  } catch (error) {
    throw namedFailure(who, error);
  }
}
