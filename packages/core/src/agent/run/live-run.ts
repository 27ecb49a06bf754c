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
import type { ChatModel } from '../../model/chat-model.ts';
import { parentPath } from '../../tool/context-token.ts';
import { BoundedWaits } from '../../wait/bounded/bounded-waits.ts';
import { Halting } from '../../wait/halt.ts';
import { requireMiddleware, runOptions } from '../check-agent-options.ts';
import type { AgentSettings, KernelCallOptions } from '../kernel-options.ts';
import type { AgentHook } from '../middleware.ts';
import type { Run } from '../seam/run.ts';
import { Inbox, type InboxHandler } from './inbox.ts';
import { MessageAuthor } from './message-author.ts';
import { OpenCalls } from './open-calls.ts';
import { Outbox, type SendEvents } from './outbox.ts';
import { RequestPrompt } from './request-prompt.ts';
import { RunClock } from './run-clock.ts';
import type { RunSetup } from './run-setup.ts';
import { RunTotals } from './run-totals.ts';
import { LoggedConversation } from './logged-conversation.ts';
import { Toolbox } from './toolbox.ts';

/**
 * One agent call: what it is made of, and its parts. The steps of the loop read and change the
 * parts. Middleware gets `forMiddleware`.
 */
export class LiveRun {
  // What the run is made of.
  readonly setup: RunSetup;
  readonly callOptions: KernelCallOptions;
  /** The options of the agent and of the agent call. */
  readonly options: AgentSettings;
  readonly runId: string;
  readonly sessionId: string;
  readonly userId: string | undefined;
  readonly agentPath: readonly string[];
  /** Id of the run that this run continues. */
  resumes: string | undefined;
  /** The model inside the wrappers of all middleware. */
  readonly model: ChatModel;
  readonly status: AgentStatus;

  // Its parts.
  /** What ends the run, and how far its end has come. */
  readonly ending: Halting = new Halting();
  /** Waits for code that may never settle, such as hooks and stores. */
  readonly waits: BoundedWaits;
  readonly clock: RunClock;
  readonly log: LoggedConversation;
  readonly calls: OpenCalls;
  readonly tools: Toolbox;
  readonly prompt: RequestPrompt;
  readonly author: MessageAuthor;
  readonly totals: RunTotals = new RunTotals();
  readonly outbox: Outbox = new Outbox(this);
  /** What others ask of this run. */
  readonly inbox: Inbox = new Inbox();
  /** The `run` that middleware and hooks get. */
  readonly forMiddleware: Run;
  readonly hooks: HookDispatcher;
  /** Whether `mapEvent` of a middleware runs now. */
  isMapping = false;

  constructor(
    setup: RunSetup,
    callOptions: KernelCallOptions,
    hooks: () => readonly AgentHook[],
    // A parameter, because a run knows no step of the loop.
    runFor: (run: LiveRun) => Run,
  ) {
    const { options } = setup;
    this.setup = setup;
    this.callOptions = callOptions;
    this.status = setup.status;
    this.model = setup.model;
    this.options = runOptions(options, callOptions);
    this.runId = options.generateId();
    checkId(this.runId, 'run id from generateId()', 'CONFIGURATION');
    this.sessionId = setup.sessionId;
    this.userId = options.userId;
    this.waits = new BoundedWaits(this);
    this.clock = new RunClock(options, this.ending.fail);
    this.log = new LoggedConversation(this);
    this.calls = new OpenCalls(this);
    this.tools = new Toolbox(setup, callOptions.toolContext);
    this.prompt = new RequestPrompt(setup, this.log);
    this.author = new MessageAuthor(this.options, this.log);
    const callerPath = (this.tools.context.get(parentPath) ?? []) as readonly string[];
    this.agentPath = [...callerPath, options.name];
    this.forMiddleware = runFor(this);
    this.hooks = new HookDispatcher(hooks, {
      run: this.forMiddleware,
      onError: options.onHookError,
      waits: this.waits,
    });
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
    this.ending.enterStage('over');
    // Its timer would outlive the run.
    this.clock.timeout.pause();
    this.log.keep();
    this.callOptions.signal?.removeEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = (): void => this.ending.abort(this.callOptions.signal?.reason);

  readonly interrupt = (input: string | Msg | InterruptRequest = {}): boolean => {
    const request = checkInterrupt(input, this.options);
    if (this.ending.stage !== 'running') return false;
    const offer = (handler: InboxHandler): boolean | undefined => handler.interrupt?.(request);
    const isTaken = this.inbox.offer(offer);
    if (isTaken !== undefined) return isTaken;
    if (request.mode === 'stop') {
      this.ending.stopWith({ kind: 'interrupted', message: request.message });
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

  /**
   * Returns the run. Throws `CONFIGURATION` in `mapEvent`, for code without types: an event that
   * `mapEvent` sends would come to it again, without end.
   */
  notMapping(): this {
    if (this.isMapping) throw misconfigured('mapEvent() must not change the run.');
    return this;
  }

  /**
   * Returns the run for code of middleware that changes it. Throws `ABORTED` after its end, so that
   * code that still runs changes nothing.
   */
  alive(): this {
    if (this.ending.stage === 'over') throw new AgentError('ABORTED', 'The run has ended.');
    return this.notMapping();
  }

  /**
   * Returns the run for code of middleware that changes the conversation. Throws `CONFIGURATION`
   * before the run has read its log, for code without types: the messages would be lost.
   */
  writing(): this {
    this.alive();
    if (this.log.isOpen) return this;
    throw misconfigured('The conversation can be changed from `wrapSettle` on, not before.');
  }
}
