import type { Middleware } from '../../agent/middleware.ts';
import type { RunContext } from '../../agent/run-context.ts';
import { isEnding } from '../../agent/next.ts';
import { perRun } from '../../agent/per-run.ts';
import { AgentError, checkOptions } from '../../error/agent-error.ts';
import { checkGuarded, withStream } from '../../model/wrap-model.ts';
import type { ChatModel, RunInfo } from '../../model/chat-model.ts';
import type { ToolContext } from '../../tool/tool.ts';
import { type HandOff, type HandOffAgent, type HandOffTarget, Team, checkAgents } from './team.ts';
import { TeamTurn } from './team-turn.ts';

/** The agents of `handOff()`, and how often they may pass the conversation on. */
export interface HandOffOptions {
  /** The agents that can take over. */
  readonly to: readonly HandOffAgent[];
  /**
   * How the others see the agent that has `handOff()`. They can hand the conversation back to it.
   */
  readonly own?: Partial<HandOffTarget>;
  /**
   * Maximum number of hand-offs between a question and its answer, over all runs that resume it.
   * At the limit, the models get no more tools for hand-offs, so that the active agent answers.
   * @default 5
   */
  readonly limit?: number;
  /**
   * Function that runs before a hand-off, with the arguments of the model as `input`. If it throws,
   * the conversation stays with its agent, and the model gets an error result.
   */
  readonly onHandOff?: (
    handOff: HandOff & { readonly input: unknown },
    context: ToolContext,
  ) => void | Promise<void>;
}

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
  const fields = 'to:array own:object|? limit:whole|Infinity|? onHandOff:function|?';
  checkOptions('handOff()', options, fields);
  checkAgents(options.to, options.own ?? {});
  /** By agent, because a team keeps which tool groups are active. */
  const teams = new WeakMap<object, Team>();
  const teamOf = ({ agentKey, agentPath, options: { presetPriority } }: RunContext): Team => {
    const team = teams.get(agentKey) ?? new Team(agentPath.at(-1)!, options, { presetPriority });
    teams.set(agentKey, team);
    return team;
  };
  const turnOf = perRun((context, steps) => new TeamTurn(context, steps, teamOf(context), options));
  return {
    name: 'handOff',
    on: {
      // Decisions are checked with the tools of the agent that made the calls.
      'pre-call': (_event, _control, context) => turnOf(context).activateFromLog(),
      // Answers such as a summary at a limit pass no wrapper.
      'post-call': (event, _control, context) => {
        const message = turnOf(context).withActiveName(event.message);
        return message === event.message ? event : { ...event, message };
      },
    },
    wrapRun: (next) => async (input, context) => {
      const turn = turnOf(context);
      turn.start();
      try {
        return await next(input);
      } finally {
        turn.end();
      }
    },
    wrapSettle: (next) => async (input, context) => {
      const turn = turnOf(context);
      const { messages, decisions } = input;
      // The kernel would take the answer of another agent for a message to answer.
      if (!messages.length && !decisions.length && turn.isAnswered())
        throw new AgentError('INVALID_INPUT', 'The call needs an input.');
      const outcome = await next(input);
      if (!isEnding(outcome) && outcome.to === 'model') turn.activateNewest();
      return outcome;
    },
    wrapRequest: (next) => (draft, context) => next(turnOf(context).filter(draft)),
    wrapModel(next) {
      const models = options.to.flatMap(({ model = [] }) => model);
      checkGuarded('handOff()', next, models);
      return activeModel(next, (run) => turnOf(run).model);
    },
    wrapReply: (next) => (reply, context) => {
      const message = turnOf(context).withActiveName(reply.message);
      return next({ ...reply, message });
    },
    wrapRound: (next) => async (round, context) => {
      const turn = turnOf(context);
      const outcome = await next({ ...round, calls: turn.refuseFurtherHandOffs(round.calls) });
      const isHandedOff = !isEnding(outcome) && outcome.to === 'model' && turn.activateNewest();
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
