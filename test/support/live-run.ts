import { onTestFinished } from 'vitest';
import type { AgentEvent, Msg } from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import type { AgentStatus } from '../../packages/core/src/event/agent-status.ts';
import type {
  KernelCallOptions,
  KernelOptions,
} from '../../packages/core/src/agent/kernel-options.ts';
import type { AgentHook, Middleware } from '../../packages/core/src/agent/middleware.ts';
import { LiveRun } from '../../packages/core/src/agent/run/live-run.ts';
import { runSetup } from '../../packages/core/src/agent/run/run-setup.ts';
import { seam } from '../../packages/core/src/agent/seam/seam.ts';
import { withDefaults } from '../../packages/core/src/agent/use-list.ts';
import { InMemoryMemory } from '../../packages/core/src/memory/in-memory-memory.ts';
import { logMemoryOf, type ExtendedMemory } from '../../packages/core/src/memory/memory.ts';
import { KeptConversation } from '../../packages/core/src/message/conversation/conversation.ts';
import { systemMessages } from '../../packages/core/src/message/conversation/system-message.ts';
import { toolList } from '../../packages/core/src/tool/set/tool-set.ts';
import type { Tool } from '../../packages/core/src/tool/tool.ts';

/** What a run for tests is made of. */
export interface LiveRunOptions extends Partial<Omit<KernelOptions, 'use' | 'tools'>> {
  readonly replies?: readonly ScriptedReply[];
  readonly use?: readonly Middleware[];
  readonly tools?: readonly Tool[];
  readonly memory?: ExtendedMemory;
  readonly call?: KernelCallOptions;
}

/** A run that has begun, and what its readers got. */
export interface TestedRun {
  readonly live: LiveRun;
  readonly model: ScriptedModel;
  readonly status: AgentStatus;
  readonly events: AgentEvent[];
  /** Returns the types of the events so far. */
  types(): readonly string[];
}

/**
 * Creates a run with all of its real parts, for tests of one part or of one step. Its ids are
 * `id1`, `id2` and so on, and its clocks stand still.
 */
export function liveRun(options: LiveRunOptions = {}): TestedRun {
  const { replies = [], use = [], tools = [], call = {}, ...rest } = options;
  const { memory = new InMemoryMemory() } = rest;
  const model = new ScriptedModel(replies);
  let count = 0;
  const generateId = (): string => `id${(count += 1)}`;
  const clocks = { now: () => 0, monotonicNow: () => 0 };
  const settings = withDefaults({ name: 'a', model, generateId, ...clocks, ...rest }, use);
  const { state = {} } = memory;
  const status: AgentStatus = { calls: new Map(), state, runs: 0, interrupted: false };
  const base = {
    sessionId: 's',
    options: settings,
    memory,
    log: logMemoryOf(memory),
    ownTools: toolList(tools).fork({ presetPriority: 'preset' }),
    status,
    systemMessages: systemMessages(settings.now),
    keptConversation: new KeptConversation(),
    unwritten: new Set<Promise<unknown>>(),
  };
  const hooks = (): readonly AgentHook[] => use.filter(({ on }) => on);
  const live = new LiveRun(runSetup(base, use), call, hooks, seam);
  const events: AgentEvent[] = [];
  live.begin((batch) => {
    events.push(...batch);
    return undefined;
  });
  onTestFinished(() => live.end());
  return { live, model, status, events, types: () => events.map(({ type }) => type) };
}

/** Opens the log of a run, and stores messages in it. */
export async function openWith(live: LiveRun, ...messages: readonly Msg[]): Promise<void> {
  await live.log.open();
  live.log.markBegun();
  await live.log.append(messages);
}
