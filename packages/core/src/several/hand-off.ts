import type { Middleware } from '../agent/middleware.ts';
import { isEnding } from '../agent/next.ts';
import { perRun, perAgent } from '../agent/per-run.ts';
import { AgentError } from '../error/agent-error.ts';
import { checkGuarded, withStream } from '../model/wrap-model.ts';
import type { ChatModel, RunInfo } from '../model/chat-model.ts';
import { checkHandOffOptions, type HandOffOptions } from './hand-off-options.ts';
import { Team } from './team.ts';
import { TeamRun } from './team-run.ts';
import { visibleHistory } from './visible-history.ts';

/**
 * Creates middleware, for an agent's `use` list, with which several agents share one conversation.
 * A model passes the conversation to another agent with a tool such as `transfer_to_billing`. The
 * other agent then answers with its own system prompt, tools and model. It stays active
 * until it hands off itself, also in later agent calls. Messages have the name of the agent that
 * wrote them.
 *
 * The session log has the hand-offs, so a resumed run continues with the right agent. If the log is
 * truncated before a hand-off, the agent before it is active again. Of several hand-offs in one
 * reply, the first one counts. Other tool calls of the reply run as usual.
 *
 * Throws `CONFIGURATION` for an option of the wrong kind. An agent call fails with `CONFIGURATION`
 * if two agents have one name, or if the agent has a tool of the same name.
 *
 * @example
 * const billing = {
 *   name: 'billing',
 *   description: 'Invoices and refunds.',
 *   systemPrompt: 'You answer questions about invoices.',
 *   tools: [refund],
 * };
 * new ReActAgent({ name: 'reception', model, use: [handOff({ to: [billing] })] });
 */
export function handOff(options: HandOffOptions): Middleware {
  checkHandOffOptions(options);
  /** By agent, because a team keeps which tool groups are active. */
  const teamOf = perAgent(({ agentPath, options: { presetPriority } }): Team => {
    return new Team(agentPath.at(-1)!, options, { presetPriority });
  });
  const teamRunOf = perRun((run) => new TeamRun(run, teamOf(run), options));
  const historyOf = perRun((run) => visibleHistory(teamOf(run)));
  return {
    name: 'handOff',
    on: {
      // Decisions are checked with the tools of the agent that made the calls.
      'pre-call': (_event, run) => teamRunOf(run).activateFromLog(),
      // Answers such as a summary at a limit pass no wrapper.
      'post-call': (event, run) => {
        const message = teamRunOf(run).withActiveName(event.message);
        return message === event.message ? event : { ...event, message };
      },
    },
    wrapRun: async (input, next, run) => {
      const end = teamRunOf(run).start();
      try {
        return await next(input);
      } finally {
        end();
      }
    },
    wrapSettle: async (input, next, run) => {
      const teamRun = teamRunOf(run);
      const { messages, decisions } = input;
      // The kernel would take the answer of another agent for a message to answer.
      if (!messages.length && !decisions.length && teamRun.isAnswered())
        throw new AgentError('INVALID_INPUT', 'The input is missing.');
      const outcome = await next(input);
      if (!isEnding(outcome) && outcome.to === 'model') teamRun.activateNewest();
      return outcome;
    },
    wrapRequest: (draft, next, run) => next(historyOf(run)(draft, teamRunOf(run).active)),
    wrapModel(next) {
      const models = options.to.flatMap(({ model = [] }) => model);
      checkGuarded('handOff()', next, models);
      return activeModel(next, (run) => teamRunOf(run).active.model);
    },
    wrapReply: (reply, next, run) => {
      const message = teamRunOf(run).withActiveName(reply.message);
      return next({ ...reply, message });
    },
    wrapRound: async (round, next, run) => {
      const teamRun = teamRunOf(run);
      const outcome = await next({ ...round, calls: teamRun.refuseFurtherHandOffs(round.calls) });
      const isHandedOff = !isEnding(outcome) && outcome.to === 'model' && teamRun.activateNewest();
      // The results of this round are no answer.
      return isHandedOff ? { to: 'model', mustAsk: true } : outcome;
    },
  };
}

/** Returns a model that asks the model of the active agent, if it has one of its own. */
function activeModel(next: ChatModel, modelOf: (run: RunInfo) => ChatModel | undefined): ChatModel {
  return withStream(next, (request, context) => {
    const model = context.run && modelOf(context.run);
    if (!model) return next.stream(request, context);
    context.onModel?.(model);
    return model.stream(model.features.tools ? request : { ...request, tools: [] }, context);
  });
}
