import { directAnswers } from '../answer/direct-answers.ts';
import { isApprovals } from '../approval/approving-agent.ts';
import { basicApprovals } from '../approval/basic-approvals.ts';
import { addDecisions } from '../approval/decided-input.ts';
import { checkClientTexts } from '../prompt/client-texts.ts';
import { instructions } from '../prompt/instructions.ts';
import { answerAtLimit } from '../answer/answer-at-limit.ts';
import { runLimits, type RunLimits, runLimitOptions } from '../limits/run-limits.ts';
import { allowedTools } from '../selection/allowed-tools.ts';
import type { ToolSource } from '../tool/tool.ts';
import { steering } from '../steering/steering.ts';
import { Agent } from '../agent/agent.ts';
import type { AgentInput } from '../event/agent-input.ts';
import {
  requireMiddleware,
  kernelCallOptions,
  kernelLimits,
  kernelOptions,
  type AgentTables,
} from '../agent/check-agent-options.ts';
import type { AgentStream } from '../event/readers/agent-stream.ts';
import type { AgentLimits, AgentOptions, CallOptions } from './agent-options.ts';
import type { KernelCallOptions, KernelOptions } from '../agent/kernel-options.ts';
import { definePreset } from '../agent/use-list.ts';
import type { Middleware, UseList } from '../agent/middleware.ts';
import { invalidInput } from '../error/agent-error.ts';
import type { AgentResult } from '../event/agent-result.ts';
import type { InterruptRequest } from '../event/interrupt-request.ts';
import { omitUndefined } from '../message/json.ts';
import type { Msg } from '../message/msg.ts';
import { anything, array, boolean, either, func, oneOf, optional } from '../error/options/kinds.ts';
import type { OptionTable } from '../error/options/option-table.ts';

/**
 * One middleware of `standard()`, with the options of an agent, of its limits and of an agent call
 * that it reads. An agent with one of them must have middleware of this name.
 */
interface OptionReader {
  readonly middleware: Middleware;
  readonly agent?: readonly (keyof AgentOptions)[];
  readonly limits?: readonly (keyof RunLimits)[];
  readonly call?: readonly (keyof CallOptions)[];
  /** Whether middleware of this name reads the options. Default: all of it does. */
  readonly isReadBy?: (middleware: Middleware) => boolean;
}

/** The outermost middleware comes first. */
const optionReaders: readonly OptionReader[] = [
  { middleware: basicApprovals(), agent: ['deferRound'], isReadBy: isApprovals },
  { middleware: steering(), agent: ['interruptWhenIdle'] },
  { middleware: directAnswers(), agent: ['returnDirect'], call: ['returnDirect'] },
  { middleware: answerAtLimit(), agent: ['onLimit'] },
  { middleware: runLimits(), limits: ['toolCalls', 'tokens'] },
];

const agentOptions: OptionTable<AgentOptions> = {
  ...kernelOptions,
  whenBusy: optional(oneOf('reject', 'queue', 'inject')),
  deferRound: optional(boolean),
  interruptWhenIdle: optional(func),
  returnDirect: optional(either(boolean, func)),
  onLimit: optional(func),
  retrievalRole: optional(oneOf('user', 'system')),
};

const agentLimits: OptionTable<AgentLimits> = { ...kernelLimits, ...runLimitOptions };

const callOptions: OptionTable<CallOptions> = {
  ...kernelCallOptions,
  returnDirect: optional(either(boolean, func)),
  allowTools: optional(array),
  clientTexts: optional(array),
  decisions: optional(array),
  instructions: optional(array),
  output: anything,
};

const tables: AgentTables = {
  className: 'ReActAgent',
  agent: agentOptions,
  limits: agentLimits,
  call: callOptions,
};

const standardMiddleware = definePreset(optionReaders.map(({ middleware }) => middleware));

/**
 * Returns the features of `ReActAgent` that the kernel does not have, one middleware each. They
 * carry out decisions, steer a run, and take results of tools as answers. They also give a last
 * answer at a limit, and count tokens and tool calls. Later middleware of the same name replaces
 * one, so `{ name: 'steering' }` removes it.
 */
function standard(): readonly Middleware[] {
  return standardMiddleware;
}

/**
 * An agent that reasons, acts and observes until it has an answer. It is the kernel's `Agent` with
 * the middleware of `standard()`, which comes before that in `use`. One instance has one
 * conversation. TypeScript infers `S`, the type of the tools.
 *
 * @example
 * const agent = new ReActAgent({
 *   name: 'assistant',
 *   systemPrompt: 'Answer in one sentence.',
 *   model: openai({ model: 'gpt-5-mini', apiKey }),
 *   tools: [weather],
 * });
 * const { text } = await agent.call('Is it warmer in Paris or in Rome?');
 */
export class ReActAgent<const S extends ToolSource = ToolSource> extends Agent<S> {
  protected static override readonly optionTables: AgentTables = tables;

  /** Throws `CONFIGURATION` for an option of the wrong type. */
  constructor(options: AgentOptions<S>) {
    const { use = [] } = options ?? {};
    const all = Array.isArray(use) ? [standard(), ...use] : use;
    super((options && { ...options, use: all }) as KernelOptions<S>);
    checkServed(this.use, 'agent', options);
    checkServed(this.use, 'limits', options.limits);
    if (options.whenBusy === 'inject')
      requireMiddleware(this.use, 'steering', "whenBusy: 'inject'");
  }

  /** Same as `call` of the kernel's `Agent`, with the options of its features. */
  override call<T = unknown>(
    input?: AgentInput,
    options: CallOptions<T> = {},
  ): Promise<AgentResult<T>> {
    // Not async: the promise of an async function would be unhandled if nobody waits for it.
    return super.call<T>(input, options);
  }

  /** Same as `stream` of the kernel's `Agent`, with the options of its features. */
  override stream<T = unknown>(input?: AgentInput, options: CallOptions<T> = {}): AgentStream<T> {
    return super.stream<T>(input, options);
  }

  /** Turns the options that the kernel does not have into middleware. */
  protected override kernelOptions(options: CallOptions): KernelCallOptions {
    checkServed(this.use, 'call', options);
    const { clientTexts, decisions, instructions: addedInstructions, output, ...rest } = options;
    // What a client sent comes first, so that all guards get it. These texts are no new messages.
    const use: (Middleware | UseList)[] = [];
    if (decisions?.length) use.push(addDecisions(decisions));
    if (rest.allowTools) use.push(allowedTools(rest.allowTools));
    if (addedInstructions?.length) use.push(instructions(addedInstructions));
    if (clientTexts?.length) use.push(checkClientTexts(clientTexts));
    if (rest.use) use.push(rest.use);
    if (Array.isArray(output)) use.push(output);
    else if (output !== undefined) throw invalidInput('call(): output must be structured(schema).');
    return use.length ? { ...rest, use } : rest;
  }

  /**
   * Asks the running agent call to stop at its next interrupt point: before a model request,
   * between model deltas or after tools. Running tools finish. The answer is then `message` or the
   * agent's recovery message. A request may also ask for a pause, or add messages. Returns false if
   * no call runs. With `interruptWhenIdle: pauseNextCall`, a pause then applies to the next call
   * and returns true. Throws `INVALID_INPUT` for an invalid request.
   */
  override interrupt(request: string | Msg | InterruptRequest = {}): boolean {
    if (super.interrupt(request)) return true;
    return this.options.interruptWhenIdle?.(this, request) ?? false;
  }
}

/** Throws `CONFIGURATION` for an option that no middleware of the agent reads. */
function checkServed(
  use: readonly Middleware[],
  list: 'agent' | 'limits' | 'call',
  options: object = {},
): void {
  const keys = Object.keys(omitUndefined(options));
  for (const { middleware, isReadBy = () => true, [list]: ownKeys = [] } of optionReaders) {
    const key = ownKeys.find((one) => keys.includes(one));
    if (key) requireMiddleware(use.filter(isReadBy), middleware.name!, `The option \`${key}\``);
  }
}
