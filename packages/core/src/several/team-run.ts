import type { OpenCall } from '../agent/middleware.ts';
import type { Run } from '../agent/seam/run.ts';
import { errorResult } from '../tool/tool-call.ts';
import { resumptionOf } from '../memory/log/resumption.ts';
import { toolUsesOf, type Msg } from '../message/msg.ts';
import { newestRound } from '../message/conversation/turns.ts';
import type { HandOffOptions } from './hand-off-options.ts';
import type { Member, Team } from './team.ts';
import { handOffTool, teamTools } from './team-tools.ts';

/** Which agent of a team is active during one run. Its prompt, tools and name count. */
export class TeamRun {
  readonly #run: Run;
  readonly #team: Team;
  readonly #options: HandOffOptions;
  #active: Member;
  /** The base prompt of the agent that has `handOff()`, while another one is active. */
  #ownPrompt = '';

  constructor(run: Run, team: Team, options: HandOffOptions) {
    this.#run = run;
    this.#team = team;
    this.#options = options;
    this.#active = team.own;
  }

  get active(): Member {
    return this.#active;
  }

  /** Gives the run the tools of the team. Returns a function to call when the run ends. */
  start(): () => void {
    const run = this.#run;
    const team = this.#team;
    const active = (): Member => this.#active;
    run.tools.add(team.members.map((target) => handOffTool(target, active, this.#options)));
    run.tools.set(
      teamTools(team, {
        ownTools: run.tools.current,
        shared: new Set(run.tools.added.map(({ name }) => name)),
        allowTools: run.options.allowTools,
        active,
        refusal: (target) => this.#refusal(target),
      }),
    );
    // After a stop, the loop stores messages that pass no wrapper, such as a part of a reply.
    const onStop = (): void => this.#run.ending.before(() => this.#nameMessages());
    run.stopSignal.addEventListener('abort', onStop, { once: true });
    return () => run.stopSignal.removeEventListener('abort', onStop);
  }

  /** Follows the log: the agent whose tool calls are open is active, or else the last target. */
  activateFromLog(): void {
    const { messages, calls } = this.#run;
    this.#activate(calls.open.length ? newestRound(messages).before : messages);
  }

  /**
   * Makes the target of the newest hand-off active, before the model is asked. Returns whether it
   * was not.
   */
  activateNewest(): boolean {
    return this.#activate(this.#run.messages);
  }

  #activate(messages: readonly Msg[]): boolean {
    const run = this.#run;
    const previous = this.#active;
    const active = this.#team.activeAfter(messages);
    if (active === previous) return false;
    if (previous === this.#team.own) this.#ownPrompt = run.prompt.base;
    this.#active = active;
    run.prompt.set(active.systemPrompt ?? this.#ownPrompt);
    return true;
  }

  /** Returns whether the log ends with an answer of the team. */
  isAnswered(): boolean {
    const { messages, resumes: openRunId } = this.#run;
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

  /** Sets the name of the active agent in replies of this run that passed no wrapper. */
  async #nameMessages(): Promise<void> {
    const { messages, questionId } = this.#run;
    const start = messages.findLastIndex(({ id, role }) => id === questionId || role === 'tool');
    for (const message of messages.slice(start + 1)) {
      const namedMessage = this.withActiveName(message);
      if (namedMessage !== message) await this.#run.log.edit({ replace: [namedMessage] });
    }
  }

  /** Gives each hand-off of a reply except the first one an error result. */
  refuseFurtherHandOffs(calls: readonly OpenCall[]): readonly OpenCall[] {
    const { reply } = newestRound(this.#run.messages);
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

  /** Returns why the active agent cannot hand off to another one, or nothing if it can. */
  #refusal(target: Member): string | undefined {
    if (!this.#team.mayHandOff(this.#active, target))
      return `"${this.#active.name}" cannot hand off to "${target.name}".`;
    const { messages, questionId } = this.#run;
    const { limit = 5 } = this.#options;
    const questionIndex = messages.findLastIndex(({ id }) => id === questionId);
    if (this.#team.countIn(messages.slice(questionIndex + 1)) < limit) return undefined;
    const handedOff = `The conversation has been handed off ${limit} times`;
    return `${handedOff} since the last question. Answer it yourself.`;
  }
}
