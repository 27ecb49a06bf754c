import type { OpenCall, RequestDraft } from '../../agent/middleware.ts';
import type { RunContext } from '../../agent/run-context.ts';
import type { Steps } from '../../agent/steps.ts';
import { errorResult } from '../../tool/tool-call.ts';
import { resumptionOf } from '../../memory/log/resumption.ts';
import { toolResultsOf, toolUseIn, toolUsesOf, type Msg } from '../../message/msg.ts';
import { newestRound } from '../../message/turns.ts';
import type { ChatModel } from '../../model/chat-model.ts';
import { objectInput } from '../../schema/schema.ts';
import { filteredTools, groupsOf, toolsIn, type ToolSet } from '../../tool/set/tool-set.ts';
import { tool, type Tool } from '../../tool/tool.ts';
import type { HandOffOptions } from './hand-off.ts';
import type { LoggedHandOff, Member, Team } from './team.ts';

/** Which agent is active during one run. */
export class TeamTurn {
  readonly #context: RunContext;
  readonly #steps: Steps;
  readonly #team: Team;
  readonly #options: HandOffOptions;
  /** The tools of the agent that has `handOff()`, of middleware, and those for hand-offs. */
  #ownTools: ToolSet;
  /** Names of the tools that serve all members, such as those of middleware. */
  readonly #shared: ReadonlySet<string>;
  #active: Member;
  /** The base prompt of the agent that has `handOff()`, while another one is active. */
  #ownPrompt = '';
  /** What the newest `inputFilter` returned. */
  #filtered: { readonly toolUseId: string; readonly history: readonly Msg[] } | undefined;

  constructor(context: RunContext, steps: Steps, team: Team, options: HandOffOptions) {
    this.#context = context;
    this.#steps = steps;
    this.#team = team;
    this.#options = options;
    this.#active = team.own;
    this.#shared = new Set(context.addedTools.map(({ name }) => name));
    this.#ownTools = context.tools;
  }

  /** Gives the run the tools of all members and for hand-offs. Names replies after a stop. */
  start(): void {
    this.#context.addTools(this.#team.members.map((member) => this.#toolFor(member)));
    this.#ownTools = this.#context.tools;
    this.#context.setTools(this.#teamTools());
    this.#context.stopSignal.addEventListener('abort', this.#onStop, { once: true });
  }

  /** After a stop, the loop stores messages that pass no wrapper, such as a part of a reply. */
  readonly #onStop = (): void => this.#steps.beforeEnd(() => this.#nameMessages());

  end(): void {
    this.#context.stopSignal.removeEventListener('abort', this.#onStop);
  }

  /** The model of the active agent. `undefined`: that of the agent that has `handOff()`. */
  get model(): ChatModel | undefined {
    return this.#active.model;
  }

  /** Follows the log: the agent whose tool calls are open is active, or else the last target. */
  activateFromLog(): void {
    const { messages, openCalls } = this.#context;
    this.#activate(openCalls.length ? newestRound(messages).before : messages);
  }

  /** Makes the target of the newest hand-off active, before the model is asked. */
  activateNewest(): boolean {
    return this.#activate(this.#context.messages);
  }

  /** Returns whether the log ends with an answer of the team. */
  isAnswered(): boolean {
    const { messages, resumes: openRunId } = this.#context;
    const { type } = resumptionOf({ messages, openRunId });
    const last = messages.at(-1);
    return type === 'nothing' && this.#team.members.some(({ name }) => name === last?.name);
  }

  /**
   * Returns a reply under the name of the active agent. Returns other messages unchanged, such as
   * those of a person who answers in the assistant's place.
   */
  withActiveName(message: Msg): Msg {
    const { own } = this.#team;
    const isReplyOfOwn = message.role === 'assistant' && message.name === own.name;
    if (!isReplyOfOwn || this.#active === own) return message;
    return { ...message, name: this.#active.name };
  }

  /** Gives each hand-off of a reply except the first one an error result. */
  refuseFurtherHandOffs(calls: readonly OpenCall[]): readonly OpenCall[] {
    const { reply } = newestRound(this.#context.messages);
    const [first, ...furtherIds] = (reply ? toolUsesOf(reply) : [])
      .filter(({ name }) => this.#team.targetOf(name))
      .map(({ id }) => id);
    if (!furtherIds.length) return calls;
    return calls.map((call) => {
      const { toolUse } = call;
      if (!furtherIds.includes(toolUse.id)) return call;
      const message = `Only the first hand-off of a reply counts, which is the call "${first}".`;
      return { ...call, result: errorResult(toolUse, message) };
    });
  }

  /** Returns the request with the part of the history that the active agent sees. */
  filter(draft: RequestDraft): RequestDraft {
    const { inputFilter, name } = this.#active;
    const { messages, fixedCount } = draft;
    const newest = inputFilter && this.#team.newestIn(messages);
    if (!newest) return draft;
    const { toolUseId } = newest;
    const end = roundEnd(messages, toolUseId);
    if (this.#filtered?.toolUseId !== toolUseId) {
      const from = this.#activeBefore(messages, newest).name;
      const history = inputFilter(messages.slice(fixedCount, end), { from, to: name });
      this.#filtered = { toolUseId, history };
    }
    const { history } = this.#filtered;
    const seenMessages = [...messages.slice(0, fixedCount), ...history, ...messages.slice(end)];
    return { ...draft, messages: seenMessages };
  }

  #activeBefore(messages: readonly Msg[], { toolUseId }: LoggedHandOff): Member {
    const replyIndex = messages.findLastIndex((message) => toolUseIn(message, toolUseId));
    return this.#team.newestIn(messages.slice(0, replyIndex))?.to ?? this.#team.own;
  }

  #countInTurn(): number {
    const { messages, questionId } = this.#context;
    const start = messages.findLastIndex(({ id }) => id === questionId);
    return this.#team.countIn(messages.slice(start + 1));
  }

  /** Returns whether another agent is active than before. */
  #activate(messages: readonly Msg[]): boolean {
    const { own } = this.#team;
    const previousAgent = this.#active;
    const active = this.#team.newestIn(messages)?.to ?? own;
    if (active === previousAgent) return false;
    const context = this.#context;
    if (previousAgent === own) this.#ownPrompt = context.basePrompt;
    this.#active = active;
    context.setSystemPrompt(active.systemPrompt ?? this.#ownPrompt);
    return true;
  }

  /**
   * Returns the tools of the active agent, with those of all members. The
   * active agent may change between two calls.
   */
  #teamTools(): ToolSet {
    const ownTools = this.#ownTools;
    const sets = this.#team.members.flatMap(({ tools }) => tools ?? []);
    const teamTools: ToolSet = {
      toolContext: [...sets, ownTools].flatMap(({ toolContext = [] }) => [...toolContext]),
      ...groupsOf(ownTools),
      find: (name) => this.#setOf(name).find(name),
      schemas: () => {
        const offered = new Set([ownTools, this.#active.tools ?? ownTools]);
        return [...offered].flatMap((set) =>
          set.schemas().filter(({ name }) => this.#setOf(name) === set),
        );
      },
      allTools: () => [...sets, ownTools].flatMap(toolsIn),
      fork: () => teamTools,
    };
    return filteredTools(teamTools, { refusal: ({ name }) => this.#refusal(name) });
  }

  /** Returns the set whose tool of this name counts. */
  #setOf(name: string): ToolSet {
    const isOfAll = this.#shared.has(name) || this.#team.targetOf(name) !== undefined;
    return (isOfAll ? undefined : this.#active.tools) ?? this.#ownTools;
  }

  /** Returns why the active agent cannot call a tool, or nothing if it can. */
  #refusal(name: string): string | undefined {
    const target = this.#team.targetOf(name);
    const isRestricted = target !== undefined || this.#setOf(name) !== this.#ownTools;
    const { allowTools } = this.#context.options;
    if (isRestricted && allowTools?.includes(name) === false) return `Tool not allowed: ${name}.`;
    if (!target) return undefined;
    if (!this.#team.mayHandOff(this.#active, target))
      return `"${this.#active.name}" cannot hand off to "${target.name}".`;
    const { limit = 5 } = this.#options;
    if (this.#countInTurn() < limit) return undefined;
    const handedOff = `The conversation has been handed off ${limit} times`;
    return `${handedOff} since the last question. Answer it yourself.`;
  }

  #toolFor(target: Member): Tool {
    const { onHandOff } = this.#options;
    const handOffTool = tool({
      name: target.toolName,
      description: `Passes the conversation to the agent "${target.name}". ${target.description}`,
      input: target.input ?? objectInput({}),
      // A hand-off changes nothing but the log, unless somebody is told about it.
      replay: onHandOff ? 'never' : 'safe',
      execute: async (input, context) => {
        const handOff = { from: this.#active.name, to: target.name };
        await onHandOff?.({ ...handOff, input }, context);
        context.emit({ type: 'data-hand-off', data: handOff });
        return `The agent "${target.name}" answers from now on.`;
      },
    });
    return { ...handOffTool, alwaysOffered: true };
  }

  /** Sets the name of the active agent in replies of this run that passed no wrapper. */
  async #nameMessages(): Promise<void> {
    const { messages, questionId } = this.#context;
    const start = messages.findLastIndex(({ id, role }) => id === questionId || role === 'tool');
    for (const message of messages.slice(start + 1)) {
      const namedMessage = this.withActiveName(message);
      if (namedMessage !== message) await this.#steps.edit({ replace: [namedMessage] });
    }
  }
}

/** Returns the index after the results of the round that has this tool call. */
function roundEnd(messages: readonly Msg[], toolUseId: string): number {
  const resultIndex = messages.findLastIndex((message) =>
    toolResultsOf(message).some((one) => one.toolUseId === toolUseId),
  );
  const nextIndex = messages.findIndex(({ role }, index) => index > resultIndex && role !== 'tool');
  return nextIndex < 0 ? messages.length : nextIndex;
}
