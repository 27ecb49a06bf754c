import { AgentError, misconfigured } from '../../error/agent-error.ts';
import { checkId } from '../../error/options/check-id.ts';
import type { AgentStatus } from '../../event/agent-status.ts';
import { HookDispatcher } from '../../event/hook-dispatcher.ts';
import {
  checkInterrupt,
  modesMiddleware,
  type InterruptRequest,
} from '../../event/interrupt-request.ts';
import type { Msg } from '../../message/msg.ts';
import type { ChatModel, RunInfo } from '../../model/chat-model.ts';
import { parentPath } from '../../tool/context-token.ts';
import type { CallingRun } from '../../tool/execute-tool.ts';
import { BoundedWaits } from '../../wait/bounded/bounded-waits.ts';
import { Halt } from '../../wait/halt.ts';
import { requireMiddleware, runOptions } from '../check-agent-options.ts';
import type { AgentSettings, KernelCallOptions } from '../kernel-options.ts';
import type { AgentHook } from '../middleware.ts';
import type { RunView } from '../seam/run-view.ts';
import type { Run } from '../seam/run.ts';
import { CallStates } from './call-states.ts';
import { EventMapper } from './event-mapper.ts';
import { Inbox, type InboxHandler } from './inbox.ts';
import { LoggedConversation } from './logged-conversation.ts';
import { MessageAuthor } from './message-author.ts';
import { OpenCalls } from './open-calls.ts';
import { Outbox, type SendEvents } from './outbox.ts';
import { RequestPrompt } from './request-prompt.ts';
import { RunClock } from './run-clock.ts';
import type { RunSetup } from './run-setup.ts';
import { RunTotals } from './run-totals.ts';
import type { StepParts } from './step-parts.ts';
import { Toolbox } from './toolbox.ts';
import { Wrappers } from './wrappers.ts';

/**
 * Creates the objects that middleware gets. A parameter, because a run knows no step of the loop.
 */
export interface Seam {
  /** Returns the `run` of wrappers and hooks. */
  readonly runOf: (live: LiveRun) => Run;
  /** Returns the `run` of `mapEvent`. */
  readonly viewOf: (live: LiveRun) => RunView;
}

/**
 * One agent call: what it is made of, and its parts. The loop has the whole of it, and each step
 * takes the parts that it needs. Middleware gets `run`.
 */
export class LiveRun implements StepParts {
  // What the run is made of.
  readonly setup: RunSetup;
  readonly callOptions: KernelCallOptions;
  readonly options: AgentSettings;
  readonly info: RunInfo;
  /** Id of the run that this run continues. */
  resumes: string | undefined;
  /** The model inside the wrappers of all middleware. */
  readonly model: ChatModel;
  readonly status: AgentStatus;

  // Its parts.
  /** What stops the run, and how far its end has come. */
  readonly halt: Halt;
  /** Waits for code that may never settle, such as hooks and stores. */
  readonly waits: BoundedWaits;
  readonly clock: RunClock;
  readonly totals: RunTotals;
  readonly tools: Toolbox;
  readonly states: CallStates;
  readonly log: LoggedConversation;
  readonly calls: OpenCalls;
  readonly prompt: RequestPrompt;
  readonly author: MessageAuthor;
  readonly hooks: HookDispatcher;
  readonly wrappers: Wrappers;
  readonly outbox: Outbox;
  /** What others ask of this run. */
  readonly inbox: Inbox;
  /** The `run` that wrappers and hooks get. */
  readonly run: Run;
  /** The run as its tools see it. */
  readonly forTools: CallingRun;

  constructor(
    setup: RunSetup,
    callOptions: KernelCallOptions,
    hooks: () => readonly AgentHook[],
    seam: Seam,
  ) {
    const options = runOptions(setup.options, callOptions);
    const runId = options.generateId();
    checkId(runId, 'run id from generateId()', 'CONFIGURATION');
    // Each part gets parts that exist. Only `run`, which controls all of them, comes later.
    const run = (): Run => this.run;
    const halt = new Halt();
    const waits = new BoundedWaits(halt, setup.unwritten);
    const clock = new RunClock(options, halt.fail);
    const totals = new RunTotals();
    const tools = new Toolbox({ setup, halt, waits }, callOptions.toolContext);
    const info = infoOf(setup, runId, tools);
    const states = new CallStates(setup);
    const log = new LoggedConversation({ runId, setup, states, halt, waits });
    const dispatcher = new HookDispatcher(hooks, { run, onError: options.onHookError, waits });
    const mapper = new EventMapper(setup, runId, () => seam.viewOf(this));
    this.setup = setup;
    this.callOptions = callOptions;
    this.options = options;
    this.info = info;
    this.model = setup.model;
    this.status = setup.status;
    this.halt = halt;
    this.waits = waits;
    this.clock = clock;
    this.totals = totals;
    this.tools = tools;
    this.states = states;
    this.log = log;
    this.calls = new OpenCalls(log, states, tools);
    this.prompt = new RequestPrompt(setup, log);
    this.author = new MessageAuthor(options, log);
    this.hooks = dispatcher;
    this.wrappers = new Wrappers({ setup, states, halt, waits, run });
    this.outbox = new Outbox({ info, totals, clock, log, halt, hooks: dispatcher, mapper });
    this.inbox = new Inbox();
    const { signal, interruptSignal } = halt;
    const { interrupt } = this;
    this.forTools = { ...info, signal, interruptSignal, interrupt, toolContext: tools.context };
    this.run = seam.runOf(this);
  }

  /**
   * Connects the run with its readers and the caller's signal. The constructor does not, because
   * the run may never start.
   */
  begin(send: SendEvents): void {
    this.outbox.deliver = send;
    const { signal } = this.callOptions;
    if (signal?.aborted) this.#onAbort();
    signal?.addEventListener('abort', this.#onAbort);
  }

  /** Ends the run. The caller's signal may live longer than many runs. */
  end(): void {
    this.halt.enterStage('over');
    // Its timer would outlive the run.
    this.clock.timeout.pause();
    this.log.keep();
    this.callOptions.signal?.removeEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = (): void => this.halt.abort(this.callOptions.signal?.reason);

  readonly interrupt = (input: string | Msg | InterruptRequest = {}): boolean => {
    const request = checkInterrupt(input, this.options);
    if (this.halt.stage !== 'running') return false;
    const offer = (handler: InboxHandler): boolean | undefined => handler.interrupt?.(request);
    const isTaken = this.inbox.offer(offer);
    if (isTaken !== undefined) return isTaken;
    if (request.mode === 'stop') {
      this.halt.stopWith({ kind: 'interrupted', message: request.message });
    } else {
      requireMiddleware(this.setup.use, modesMiddleware, `interrupt({ mode: '${request.mode}' })`);
      this.inbox.keep((handler) => this.#offerLate(() => offer(handler)));
    }
    return true;
  };

  /**
   * Offers a request that came before its handler. Nobody waits for the answer any more, and the
   * running call must not fail because of a request that is not valid. Its result gets the error.
   */
  #offerLate(offer: () => boolean | undefined): boolean | undefined {
    try {
      return offer();
    } catch (error) {
      this.totals.warnings.push(AgentError.from(error).toJSON());
      return false;
    }
  }

  /** Returns the run for code of middleware that changes it. Throws `ABORTED` after its end. */
  alive(): this {
    this.halt.throwIfOver();
    return this;
  }

  /**
   * Returns the run for code of middleware that changes the conversation. Throws `CONFIGURATION`
   * before the run has read its log, for code without types: the messages would be lost.
   */
  writing(): this {
    this.halt.throwIfOver();
    if (this.log.isOpen) return this;
    throw misconfigured('The conversation can be changed from `wrapSettle` on, not before.');
  }
}

function infoOf({ sessionId, options }: RunSetup, runId: string, tools: Toolbox): RunInfo {
  const { userId, name } = options;
  const callerPath = (tools.context.get(parentPath) ?? []) as readonly string[];
  return { runId, sessionId, userId, agentPath: [...callerPath, name] };
}
