import { expect } from 'vitest';
import type { AgentResult } from '../../packages/core/src/event/agent-result.ts';
import type { AgentEvent } from '../../packages/core/src/event/agent-event.ts';
import { historyFaults } from './history-faults.ts';
import { orderFaults } from './order-faults.ts';
import type { ScriptedReply } from '../../packages/core/src/testing/scripted-model.ts';
import { tool } from '../../packages/core/src/tool/tool.ts';
import type { AgentOptions } from '../../packages/core/src/react-agent/agent-options.ts';
import type { Middleware } from '../../packages/core/src/agent/middleware.ts';
import type { ReActAgent } from '../../packages/core/src/react-agent/react-agent.ts';
import { scriptedAgent, type ScriptedAgent } from './scripted-agent.ts';

export const input = { type: 'object' } as const;
/** Names of the tools that ran, in order. `limitedAgent()` empties it. */
export const ranTools: string[] = [];
const make = (name: string, needsApproval = false) =>
  tool({
    name,
    description: name,
    input,
    needsApproval,
    execute: () => String(ranTools.push(name)),
  });
export const limitedTools = [make('add'), make('look'), make('ask', true)];

/** Creates an agent with `limitedTools` and the limits. `ask` needs approval. */
export function limitedAgent(
  replies: readonly ScriptedReply[],
  limits: readonly Middleware[],
  options: Partial<AgentOptions> = {},
): ScriptedAgent {
  ranTools.length = 0;
  return scriptedAgent(replies, {
    tools: limitedTools,
    ...options,
    use: [...limits, ...(options.use ?? [])],
  });
}

/** Runs the agent. Expects valid events and a valid log. */
export async function checkedRun(
  agent: ReActAgent,
  given: Parameters<ReActAgent['stream']>[0] = 'go',
): Promise<AgentResult> {
  const stream = agent.stream(given);
  const events: AgentEvent[] = [];
  for await (const event of stream) events.push(event);
  expect(orderFaults(events)).toEqual([]);
  const result = await stream.result;
  expect(
    historyFaults(
      await agent.messages(),
      result.pending.map(({ toolUseId }) => toolUseId),
    ),
  ).toEqual([]);
  return result;
}
