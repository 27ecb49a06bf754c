import {
  AgentError,
  errorText,
  SessionMemory,
  type AgentInput,
  type AgentResult,
  type AgentStream,
  type JsonValue,
  type Memory,
  type ReActAgent,
} from '@isoloop/core';
import { beginTurn, pendingCallsOf, storeTitle } from '@isoloop/core/host';
import { callOptions, type Outputs } from '../wire/exposed-agent.ts';
import type { MessageStart } from '../wire/protocol.ts';
import type { CommandResult, TabCommand, TabTask } from '../wire/tab-protocol.ts';
import { cutOffStart, shownSoFar, messageStart } from './message-start.ts';
import { uiMessages } from './pending-calls.ts';
import { storedIdOf } from '../store/deletions.ts';
import { IndexedDbMemory } from '../store/indexed-db-memory.ts';
import { canLock } from './session-lock.ts';
import type { PageSide, SessionPages } from './page/session-pages.ts';

/** Argument of the factory that creates an agent. */
export interface WorkerAgentSetup<O = JsonValue> {
  readonly sessionId: string;
  /**
   * Memory of the session in IndexedDB, created at its first use. For an agent with a name, the id
   * of the stored session is `<name>/<session id>`.
   */
  readonly memory: SessionMemory;
  /**
   * Option `options` of `connectAgent`. Default: `null`. Check the value, because a page may send
   * anything.
   */
  readonly options: O;
  /**
   * Tools, approvals and model of the connected pages. The agent gets the pages' hooks
   * automatically.
   */
  readonly page: PageSide;
}

/** Function that creates the agent of a session. */
export type AgentFactory<O = JsonValue, A extends ReActAgent = ReActAgent> = (
  setup: WorkerAgentSetup<O>,
) => A | Promise<A>;

/** Factories of several agents of one worker, by agent name. */
export type AgentFactories<O = JsonValue> = Readonly<Record<string, AgentFactory<O>>>;

export interface LocalAgentOptions {
  readonly factory: AgentFactory;
  readonly agentName: string | undefined;
  readonly sessionId: string;
  readonly options: unknown;
  readonly pages: SessionPages;
  /** Outputs of the worker, by name. */
  readonly outputs: Outputs;
  /** Settles when an earlier session with the same log has closed. */
  readonly previousClosed: Promise<void> | undefined;
  /**
   * Whether this tab does not share its agent with other tabs. The tab then holds a lock during a
   * run, so that other tabs can detect the run.
   */
  readonly isAlone: boolean;
  /** Function to await with the new agent before its first use. */
  readonly onCreated: (agent: ReActAgent) => Promise<void>;
}

/** Function that forwards the events of a run to its readers and returns its result. */
type Forward = (stream: AgentStream, start: MessageStart) => Promise<AgentResult>;

/** Agent of one session in this worker, with its runs. */
export class LocalAgent {
  readonly #options: LocalAgentOptions;
  readonly #runs: Map<AbortController, Promise<unknown>> = new Map();
  #agent: Promise<ReActAgent> | undefined;
  #lastEdit: Promise<unknown> | undefined;
  #isClosed = false;

  constructor(options: LocalAgentOptions) {
    this.#options = options;
  }

  /** Offers of the connected pages (tools, approvals, model and hooks) to this session. */
  get pages(): SessionPages {
    return this.#options.pages;
  }

  /**
   * Returns the agent. The first use creates it. Waits until aborted runs and edits of the log have
   * ended, so that an agent call directly after an abort is not refused.
   */
  async agent(): Promise<ReActAgent> {
    const agent = await (this.#agent ??= this.#create());
    const abortedRuns = [...this.#runs].flatMap(([controller, run]) =>
      controller.signal.aborted ? [run] : [],
    );
    await Promise.allSettled([...abortedRuns, this.#lastEdit]);
    return agent;
  }

  /** Runs the job with the agent. `close` aborts the controller. */
  async run<T>(controller: AbortController, job: (agent: ReActAgent) => Promise<T>): Promise<T> {
    const run = job(await this.#openAgent());
    this.#holdLock(run);
    return this.#trackRun(controller, run);
  }

  /**
   * Starts the run that a request asks for. Resolves with its result, or with `undefined` if there
   * is nothing to resume. `forward`: passes the events of the run to its readers. During another
   * run, the request of a chat rejects with `AGENT_BUSY`, because it may change the log first.
   */
  perform(
    task: TabTask,
    controller: AbortController,
    forward: Forward,
  ): Promise<AgentResult | undefined> {
    switch (task.type) {
      case 'run':
        return this.run(controller, async (agent) => {
          let start: MessageStart = {};
          if (isOfLog(task.input)) start = await shownSoFar(agent);
          const options = callOptions(task.options, controller, this.#options.outputs);
          return forward(agent.stream(task.input, options), start);
        });
      case 'chat':
        return this.run(controller, async (agent) => {
          this.#checkIdle();
          const { request } = task;
          const isToolGone = this.pages.goneToolCheck(agent.tools);
          const whenBegun = beginTurn(agent, request, { isToolGone });
          this.#lastEdit = whenBegun;
          const { input, decisions = [] } = await whenBegun;
          const start = await messageStart(agent, request);
          return forward(agent.stream(input, { signal: controller.signal, decisions }), start);
        });
      case 'resume':
        return this.#runAlone(controller, cutOffStart, (agent, start) =>
          forward(agent.stream(undefined, { signal: controller.signal }), start),
        );
    }
  }

  /** Carries out a command and returns its result. */
  async command(command: TabCommand): Promise<CommandResult> {
    if (command.type === 'clear') return this.#edit((memory) => memory.clear());
    const agent = await this.agent();
    // Another page may have deleted the conversation.
    if (agent.memory instanceof SessionMemory) await agent.memory.checkDeleted();
    switch (command.type) {
      case 'interrupt':
        return agent.interrupt(command.request);
      case 'pending':
        return pendingCallsOf(agent);
      case 'messages':
        return agent.messages();
      case 'uiMessages':
        return uiMessages(agent);
    }
  }

  /**
   * Runs the job with what `look` finds, but only if no other run of the session is active. A tab
   * that is `isAlone` uses a lock to check the other tabs. Resolves with `undefined` if another run
   * is active or `look` finds nothing. Another run may begin during `look`.
   */
  async #runAlone<S, T>(
    controller: AbortController,
    look: (agent: ReActAgent) => Promise<S | undefined>,
    job: (agent: ReActAgent, found: S) => Promise<T>,
  ): Promise<T | undefined> {
    const agent = await this.#openAgent();
    const run = async (): Promise<T | undefined> => {
      const subject = await look(agent);
      if (!subject || this.#runs.size || this.#isClosed) return undefined;
      return this.#trackRun(controller, job(agent, subject));
    };
    if (!this.#options.isAlone || !(await canLock())) return run();
    return navigator.locks.request(this.#lock, { ifAvailable: true }, (lock) =>
      lock ? run() : undefined,
    );
  }

  /** Edits the log. Rejects with `AGENT_BUSY` during a run. */
  async #edit(job: (memory: Memory) => Promise<void>): Promise<void> {
    const { memory } = await this.#openAgent();
    this.#checkIdle();
    this.#lastEdit = job(memory);
    await this.#lastEdit;
  }

  /** Aborts all runs. Resolves when the log is complete. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const controller of this.#runs.keys()) controller.abort();
    await Promise.allSettled([...this.#runs.values(), this.#lastEdit]);
  }

  get #lock(): string {
    const { agentName, sessionId } = this.#options;
    return `isoloop:run:${JSON.stringify([agentName, sessionId])}`;
  }

  /**
   * Holds a lock during a run, so that other tabs can detect the run. The log alone does not show
   * whether a run is active or interrupted.
   */
  #holdLock(run: Promise<unknown>): void {
    if (!this.#options.isAlone) return;
    const ended = run.then(
      () => {},
      () => {},
    );
    navigator.locks
      ?.request(this.#lock, { mode: 'shared' }, () => ended)
      .catch(() => {
        // Browsers may refuse locks, for example in an opaque origin.
      });
  }

  async #openAgent(): Promise<ReActAgent> {
    const agent = await this.agent();
    if (this.#isClosed)
      throw new AgentError('ABORTED', 'The session closed before the call began.');
    return agent;
  }

  /** Throws `AGENT_BUSY` during a run. */
  #checkIdle(): void {
    if (this.#runs.size)
      throw new AgentError('AGENT_BUSY', 'The agent still answers: wait for it, or abort it.');
  }

  async #trackRun<T>(controller: AbortController, run: Promise<T>): Promise<T> {
    this.#runs.set(controller, run);
    try {
      return await run;
    } finally {
      this.#runs.delete(controller);
    }
  }

  async #create(): Promise<ReActAgent> {
    const { factory, agentName, sessionId, options, pages, previousClosed, onCreated } =
      this.#options;
    let memory: SessionMemory | undefined;
    const setup: WorkerAgentSetup = {
      sessionId,
      options: options as JsonValue,
      page: pages.side,
      get memory() {
        return (memory ??= new IndexedDbMemory(storedIdOf(agentName, sessionId)));
      },
    };
    try {
      await previousClosed;
      const agent = await factory(setup);
      if (!agent?.addHook)
        throw new AgentError('CONFIGURATION', 'The factory of exposeAgent() returned no agent.');
      await onCreated(agent);
      storeTitle(agent);
      pages.attach(agent);
      return agent;
    } catch (error) {
      this.#agent = undefined;
      if (AgentError.is(error)) throw error;
      throw new AgentError(
        'WORKER_FAILED',
        `The worker could not build its agent: ${errorText(error)}`,
        { cause: error },
      );
    }
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
