import { AgentError } from '../../error/agent-error.ts';
import type { ToolUse } from '../../message/content-block.ts';
import type { JsonValue } from '../../message/json/json.ts';
import { textOf } from '../../message/message-text.ts';
import type { Msg } from '../../message/msg.ts';
import type { ChatModel, GenerateOptions, ToolSchema } from '../../model/chat-model.ts';
import type { Usage } from '../../model/usage.ts';
import type { Tool } from '../../tool/tool.ts';
import type { ToolSet } from '../../tool/set/tool-set.ts';
import type { InterruptRequest } from '../../event/interrupt-request.ts';
import { interruptRun } from './interrupt-run.ts';
import type { Run } from './run.ts';
import type { RunContext } from './run-context.ts';

/** The context that a run gives to its middleware. */
export class RunView implements RunContext {
  // `run.about` sets these fields.
  readonly runId!: string;
  readonly sessionId!: string;
  readonly userId: string | undefined;
  readonly agentPath!: readonly string[];
  readonly #run: Run;
  readonly #signal: AbortSignal | undefined;

  static runOf(context: RunContext): Run {
    if (#run in Object(context)) return (context as RunView).#run;
    throw new AgentError(
      'CONFIGURATION',
      'A wrapper must pass its own context to `next`, not a copy.',
    );
  }

  /** `signal` replaces the run's stop signal, which also aborts after an interrupt. */
  constructor(run: Run, signal?: AbortSignal) {
    Object.assign(this, run.about);
    this.#run = run;
    this.#signal = signal;
  }

  get signal(): AbortSignal {
    return this.#signal ?? this.#run.stopSignal;
  }

  get cut(): RunContext['cut'] {
    return this.#run.cut;
  }

  now(): number {
    return this.#run.setup.now();
  }

  get iteration(): number {
    return this.#run.iteration;
  }

  get usage(): Usage {
    return this.#run.usage;
  }

  get model(): ChatModel {
    return this.#run.setup.model;
  }

  get generate(): GenerateOptions {
    return this.#run.generate;
  }

  get tools(): ToolSet {
    return this.#run.tools;
  }

  get addedTools(): readonly Tool[] {
    const { output, setup } = this.#run;
    return [...(output?.tools ?? []), ...setup.use.flatMap(({ tools }) => tools ?? [])];
  }

  get toolSchemas(): readonly ToolSchema[] {
    return this.#run.schemas();
  }

  get systemPrompt(): string {
    const { systemMessage } = this.#run;
    return systemMessage ? textOf(systemMessage) : '';
  }

  get agentPrompt(): string {
    return this.#run.setup.options.systemPrompt ?? '';
  }

  get toolContext(): ReadonlyMap<object, unknown> {
    return this.#run.toolContext;
  }

  get messages(): readonly Msg[] {
    return this.#run.view;
  }

  get recalled(): readonly Msg[] {
    return this.#run.recalled;
  }

  get request(): readonly Msg[] {
    return this.#run.request();
  }

  get promptId(): string | undefined {
    return this.#run.promptId;
  }

  get openCalls(): readonly ToolUse[] {
    return this.#run.openCalls();
  }

  get state(): Record<string, JsonValue> {
    return this.#run.state;
  }

  async loadState(): Promise<void> {
    this.#run.throwIfOver();
    const { failure, setup, signal } = this.#run;
    // If the agent refuses this call because another call runs, the state of the running call must
    // not change.
    if (failure || signal.aborted) return;
    await setup.memory.restore?.(setup.status, setup.tools);
  }

  async storeState(): Promise<void> {
    this.#run.throwIfOver();
    await this.#run.setup.memory.flush?.();
  }

  setTools(tools: ToolSet): void {
    this.#run.tools = tools;
  }

  setSystemPrompt(text: string): void {
    const run = this.#run;
    run.systemMessage = run.setup.toSystemMessage(text);
  }

  addUsage(usage: Usage | undefined): void {
    this.#run.addUsage(usage);
  }

  fail(error: AgentError): void {
    this.#run.fail(error);
  }

  /** Bound to the context, because hooks may destructure it as they destructure their controls. */
  readonly interrupt = (request: string | Msg | InterruptRequest = {}): boolean =>
    interruptRun(this.#run, request, this.#run.setup);
}

/** Returns the run of a context. Throws `CONFIGURATION` unless the loop made the context. */
export function runOf(context: RunContext): Run {
  return RunView.runOf(context);
}
