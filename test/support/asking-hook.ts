import type { AgentOptions } from '../../packages/core/src/react-agent/agent-options.ts';
import type { AgentEvent } from '../../packages/core/src/event/agent-event.ts';
import type { HookControls } from '../../packages/core/src/event/hook.ts';
import type { ModelRequest } from '../../packages/core/src/model/chat-model.ts';
import type { ScriptedStep } from '../../packages/core/src/testing/scripted-model.ts';
import { tool } from '../../packages/core/src/tool/tool.ts';
import { scriptedAgent, type ScriptedAgent } from './scripted-agent.ts';
import type { Middleware, UseList } from '../../packages/core/src/agent/middleware.ts';

export type EventType = AgentEvent['type'];
export type ControlName = keyof HookControls;

/**
 * Creates an agent that makes two rounds of tool calls and then, at the limit of iterations, a
 * summary. `ran`: ids of the tool calls that ran, in order.
 */
export function lookingAgent(
  use: UseList,
  options: Partial<AgentOptions> = {},
): ScriptedAgent & { readonly ran: readonly string[] } {
  const ran: string[] = [];
  const look = tool({
    name: 'look',
    description: '',
    input: { type: 'object' },
    execute: (_input, { emit, toolUseId }) => {
      ran.push(toolUseId);
      emit('looking');
      return 'seen';
    },
  });
  let rounds = 0;
  const reply = ({ tools }: ModelRequest): ScriptedStep[] => {
    if (!tools.length) return [{ text: 'In short.' }];
    rounds += 1;
    const calls = ['a', 'b'].map((name) => ({ name: 'look', id: `${name}${rounds}` }));
    return [{ text: 'Let me look.' }, { toolCalls: calls }];
  };
  const { agent, model } = scriptedAgent(
    Array.from({ length: 9 }, () => reply),
    { tools: [look], limits: { iterations: 2 }, ...options, use },
  );
  return { agent, model, ran };
}

/** Arguments with which a hook may call each control function. */
export const controlArgs = {
  stop: [],
  jumpTo: ['end', 'Jumped.'],
  gotoReasoning: [[]],
  reject: ['No.'],
};

/** Returns an event with the type of one that has all controls. */
export const controlsIn = (event: AgentEvent): HookControls => event as AgentEvent & HookControls;

/** Creates a hook that calls a control function at the first event of a type. */
export function asking(
  type: EventType,
  name: ControlName,
  given: readonly unknown[] = controlArgs[name],
): Middleware {
  let isFirst = true;
  return {
    name: 'asking',
    on: {
      '*'(event) {
        if (event.type !== type || !isFirst) return;
        isFirst = false;
        (controlsIn(event)[name] as (...given: unknown[]) => void)(...given);
      },
    },
  };
}
