import {
  AgentError,
  InMemoryMemory,
  ReActAgent,
  tool,
  type AgentInput,
  type AgentStream,
  type AgentResult,
  type ChatModel,
  type EventBatch,
  type Memory,
  type Middleware,
  type Tool,
} from '@isoloop/core';
import { metadataOf } from '@isoloop/core/message';
import type { Ending, CustomReason } from '@isoloop/core/agent';
import type { ToolOutcome } from '@isoloop/core/tool';
import { ScriptedModel } from '@isoloop/core/testing';
import { deltasOf, decisionsOf, type ReplayScript } from '../steps/replay-script.ts';

/** What an agent for replays is built from. */
export interface ReplaySetup {
  readonly sessionId: string;
  /** Memory with the messages before the turn. It is not stored. */
  readonly memory: Memory;
  /** Model that refuses each request. The replay answers in its place. */
  readonly model: ChatModel;
  /** A stand-in for each tool of the turn, for tools that the page does not have. */
  readonly tools: readonly Tool[];
}

/** Builds the agent that a replay uses, with the middleware and tools of the real one. */
export type ReplayAgent = (setup: ReplaySetup) => ReActAgent | Promise<ReActAgent>;

export interface ReplayOptions {
  readonly script: ReplayScript;
  readonly sessionId: string;
  /** Default: an agent without middleware, and with a stand-in for each tool. */
  readonly agent?: ReplayAgent | undefined;
  /** Called before each reply and each tool result. The replay waits for the promise. */
  readonly pause?: (() => Promise<void>) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs a turn of the log again and yields its events. The replies come from the log, and so do the
 * results of tools: no model and no tool is called. The agent's middleware runs as usual, except
 * what wraps the model.
 */
export async function* replayRun(options: ReplayOptions): AsyncGenerator<EventBatch, AgentResult> {
  const { script, sessionId, agent: build = plainAgent, pause, signal } = options;
  const memory = new InMemoryMemory(script.earlierMessages);
  const agent = await build({ sessionId, memory, model: silentModel, tools: standIns(script) });
  const replies = new ScriptedModel(script.replies.map((reply) => ({ deltas: deltasOf(reply) })));
  const use = [replayMiddleware(script, replies, pause)];
  let input: AgentInput = script.input;
  for (;;) {
    const stream: AgentStream = agent.stream(input, { use, ...(signal && { signal }) });
    yield* stream.batches();
    const result = await stream.result;
    const openCalls = result.pending.map(({ toolUseId }) => ({ id: toolUseId }));
    const decisions = result.reason === 'suspended' ? decisionsOf(script, openCalls) : [];
    if (!decisions.length) return result;
    input = decisions;
  }
}

/** Returns middleware that answers for the model and for all tools. */
function replayMiddleware(
  script: ReplayScript,
  replies: ScriptedModel,
  pause: ReplayOptions['pause'],
): Middleware {
  return {
    name: 'replay',
    wrapModel: ({ features }) => ({
      provider: 'replay',
      modelId: 'log',
      features: { ...features, tools: true },
      async *stream(request, context) {
        await pause?.();
        yield* replies.stream(request, context);
      },
    }),
    wrapRequest: async (draft, next) =>
      replies.requests.length < script.replies.length ? next(draft) : endOf(script),
    wrapTool: async ({ toolUse }) => {
      await pause?.();
      return script.results.get(toolUse.id) ?? notInLog;
    },
  };
}

/** Where the log ends without a reply: with the words of an interrupt, or with nothing. */
function endOf({ ending }: ReplayScript): Ending {
  if (!ending) return { kind: 'unanswered', reason: 'aborted' };
  const reason = metadataOf(ending).reason as CustomReason;
  return { kind: 'custom', reason, message: ending };
}

const notInLog: ToolOutcome = { suspended: true, reason: 'The log has no result of this call.' };

/** Side requests, such as for a summary, fail in a replay: the log does not have their replies. */
const silentModel: ChatModel = {
  provider: 'replay',
  modelId: 'none',
  features: { tools: true, media: ['image', 'audio', 'video', 'file'] },
  // oxlint-disable-next-line require-yield -- a model that only fails
  async *stream() {
    throw new AgentError('MODEL_REQUEST', 'A replay sends no requests to a model.');
  },
};

function standIns({ tools }: ReplayScript): readonly Tool[] {
  return tools.map((name) =>
    tool({
      name,
      description: 'Answers from the log.',
      input: {},
      execute: () => {
        throw new AgentError('INTERNAL', 'A replay runs no tool.');
      },
    }),
  );
}

function plainAgent({ sessionId, memory, model, tools }: ReplaySetup): ReActAgent {
  return new ReActAgent({
    name: 'replay',
    sessionId,
    memory,
    model,
    tools,
    limits: { iterations: 1_000 },
  });
}
