import type { AgentInput, AgentResult, AgentStream } from '@isoloop/core';
import type { AgentSession } from './agent-session.ts';
import { callOptions } from '../wire/exposed-agent.ts';
import { cutOffTurn, shownSoFar, takeChatMessage } from './chat-turn.ts';
import type { ShownTurn } from '../wire/protocol.ts';
import type { Outputs } from '../wire/exposed-agent.ts';
import { pendingCalls, uiMessages } from './pending-calls.ts';
import type { TabAnswer, TabQuestion, TabTask } from '../wire/tab-protocol.ts';

/** Function that forwards the events of a run to its readers and returns its result. */
type Forward = (stream: AgentStream, turn: ShownTurn) => Promise<AgentResult>;

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
        const turnSoFar = isOfLog(task.input) ? shownSoFar(agent) : {};
        const turn = await turnSoFar;
        const options = callOptions(task.options, controller, outputs);
        return forward(agent.stream(task.input, options), turn);
      });
    case 'chat':
      return session.editAndRun(
        controller,
        (agent) => takeChatMessage(agent, task, session.pages),
        (agent, { input, decisions = [], ...turn }) =>
          forward(agent.stream(input, { signal, decisions }), turn),
      );
    case 'resume':
      return session.runAlone(controller, async (agent) => {
        const turn = await cutOffTurn(agent);
        return turn && forward(agent.stream(undefined, { signal }), turn);
      });
  }
}

export async function answerQuestion(
  session: AgentSession,
  question: TabQuestion,
): Promise<TabAnswer> {
  if (question.type === 'clear') return session.edit((memory) => memory.clear());
  const agent = await session.agent();
  switch (question.type) {
    case 'interrupt':
      return agent.interrupt(question.request);
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
