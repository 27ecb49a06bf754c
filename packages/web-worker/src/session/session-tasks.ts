import { SessionMemory } from '@isoloop/core';
import type { AgentInput, AgentResult, AgentStream } from '@isoloop/core';
import type { AgentSession } from './agent-session.ts';
import { callOptions } from '../wire/exposed-agent.ts';
import { cutOffStart, shownSoFar, takeChatMessage } from './chat-turn.ts';
import type { MessageStart } from '../wire/protocol.ts';
import type { Outputs } from '../wire/exposed-agent.ts';
import { pendingCalls, uiMessages } from './pending-calls.ts';
import type { CommandResult, TabCommand, TabTask } from '../wire/tab-protocol.ts';

/** Function that forwards the events of a run to its readers and returns its result. */
type Forward = (stream: AgentStream, start: MessageStart) => Promise<AgentResult>;

/**
 * Starts the run that a request asks for. Resolves with its result, or with `undefined` if there is
 * nothing to resume.
 */
export function performTask(
  session: AgentSession,
  task: TabTask,
  controller: AbortController,
  outputs: Outputs,
  forward: Forward,
): Promise<AgentResult | undefined> {
  const { signal } = controller;
  switch (task.type) {
    case 'run':
      return session.run(controller, async (agent) => {
        let start: MessageStart = {};
        if (isOfLog(task.input)) start = await shownSoFar(agent);
        const options = callOptions(task.options, controller, outputs);
        return forward(agent.stream(task.input, options), start);
      });
    case 'chat':
      return session.editAndRun(
        controller,
        (agent) => takeChatMessage(agent, task, session.pages),
        (agent, { input, decisions = [], ...start }) =>
          forward(agent.stream(input, { signal, decisions }), start),
      );
    case 'resume':
      return session.runAlone(controller, cutOffStart, (agent, start) =>
        forward(agent.stream(undefined, { signal }), start),
      );
  }
}

export async function runCommand(
  session: AgentSession,
  command: TabCommand,
): Promise<CommandResult> {
  if (command.type === 'clear') return session.edit((memory) => memory.clear());
  const agent = await session.agent();
  // Another page may have deleted the conversation.
  if (agent.memory instanceof SessionMemory) await agent.memory.checkDeleted();
  switch (command.type) {
    case 'interrupt':
      return agent.interrupt(command.request);
    case 'pending':
      return pendingCalls(agent);
    case 'messages':
      return agent.messages();
    case 'uiMessages':
      return uiMessages(agent);
  }
}

/**
 * Returns whether the run continues an answer in the log. This is so if the input is absent or has
 * only decisions.
 */
function isOfLog(input: AgentInput | undefined): boolean {
  return (
    input === undefined ||
    (Array.isArray(input) && input.every((item: object) => 'toolUseId' in Object(item)))
  );
}
