import { checkOptions } from '../../error/options/check-options.ts';
import { boolean, optional, string } from '../../error/options/kinds.ts';
import type { OptionTable } from '../../error/options/option-table.ts';
import type { AgentResult } from '../../event/agent-result.ts';
import type { AgentEvent, EventBatch } from '../../event/agent-event.ts';
import type { PendingCall } from '../../event/pending-call.ts';
import {
  messageIdOf,
  toolUsesOf,
  type ToolResult,
  type ToolUse,
  type Msg,
} from '../../message/msg.ts';
import {
  dataPartKey,
  dataPartsOf,
  isDataPart,
  hasEnded,
  hostedToolOf,
  type DataPart,
  type HostedTool,
} from '../../message/provider-metadata.ts';
import type { JsonValue } from '../../message/json.ts';
import { answerState, type AnswerState } from '../answer-state.ts';
import { toTimelineEvent } from '../timeline-event.ts';
import type { UiChunk } from './ui-chunk.ts';
import {
  asksUser,
  filesIn,
  interruptedText,
  resultChunks,
  sourceChunks,
  outcomeChunk,
  hostedOutcome,
  dynamicTool,
  hostedTool,
  type ToolFields,
} from './ui-parts.ts';

/** Id of the message, and whether readers get reasoning and a timeline. */
export interface UiMessageEncoderOptions {
  /** Id of the message that the client builds from the chunks. Default: the id of the run. */
  readonly messageId?: string | undefined;
  /**
   * Whether to add a transient `data-isoloop-event` part for every event, except the chunks of a
   * model's reply. The parts contain no prompts. Default: false.
   */
  readonly events?: boolean | undefined;
  /** Whether to send the model's thinking. Default: true. */
  readonly reasoning?: boolean;
  /**
   * Whether the tool parts have the types of `AgentTools`, as those of `typedTransport()`. For a
   * client that has no `typedTransport()`. Default: false.
   */
  readonly typed?: boolean | undefined;
}

/** Converts the event batches of one stream, in their order. */
export interface UiMessageEncoder {
  /** Returns the chunks for a batch of events. Adjacent deltas of a block become one chunk. */
  encode(batch: EventBatch): readonly UiChunk[];
}

/**
 * Creates an encoder that converts agent events to AI SDK 7's UI message stream. Use one encoder
 * per run. All tools are dynamic tools, unless `typed` is set. The progress of a tool (`emit`) is a
 * preliminary output, or a data part. Media of the model and of tools become files. A tool call
 * that waits for approval becomes an approval request with the same id. An error ends the stream.
 * Its text is the message of the error, with the code in brackets at the end.
 */
export function createUiMessageEncoder(options: UiMessageEncoderOptions = {}): UiMessageEncoder {
  checkOptions('createUiMessageEncoder()', options, uiMessageEncoderOptions);
  return new Encoder(options);
}

const uiMessageEncoderOptions: OptionTable<UiMessageEncoderOptions> = {
  messageId: optional(string),
  events: optional(boolean),
  reasoning: optional(boolean),
  typed: optional(boolean),
};

class Encoder implements UiMessageEncoder {
  readonly #options: UiMessageEncoderOptions;
  /** Fields of each chunk about a tool of the agent. */
  readonly #toolFields: ToolFields;
  /**
   * Tool calls of this step without a result, with their input. The input is `undefined` while it
   * streams.
   */
  readonly #openInputs: Map<string, JsonValue | undefined> = new Map();
  readonly #shownData: Set<string> = new Set();
  /** Tools of the provider that this step has shown, as JSON text, by id. */
  readonly #hostedTools: Map<string, string> = new Map();
  /** Ids of the provider's tools without a result. */
  readonly #openHostedIds: Set<string> = new Set();
  /** Those of them in the reply that streams now. */
  readonly #runningHostedIds: Set<string> = new Set();
  #isInStep = false;
  /** The chunks of the current batch. */
  #chunks: UiChunk[] = [];
  /** End of the open block. */
  #block: { readonly type: 'text-end' | 'reasoning-end'; readonly id: string } | undefined;
  /** Ids of the messages with text so far. Their numbers are shorter, which saves bytes. */
  readonly #messageIds: string[] = [];

  constructor(options: UiMessageEncoderOptions) {
    this.#options = options;
    this.#toolFields = options.typed ? {} : dynamicTool;
  }

  /** A field, because callers pass it on as a function. */
  readonly encode = (batch: EventBatch): readonly UiChunk[] => {
    this.#chunks = [];
    for (const event of batch) this.#take(event);
    return this.#chunks;
  };

  #take(event: AgentEvent): void {
    const { events, messageId } = this.#options;
    const isOwn = event.agentPath.length < 2;
    if (isOwn && event.type === 'run-start') {
      const { runId, sessionId } = event;
      this.#chunks.push({
        type: 'start',
        messageId: messageId ?? runId,
        messageMetadata: { runId, sessionId },
      });
    }
    const timelineEvent = events && toTimelineEvent(event);
    if (timelineEvent)
      this.#chunks.push({ type: 'data-isoloop-event', data: timelineEvent, transient: true });
    // The output of an agent that runs as a tool is for the calling agent, not for the reader.
    if (isOwn) this.#show(event);
  }

  #show(event: AgentEvent): void {
    const { reasoning = true } = this.#options;
    switch (event.type) {
      case 'pre-reasoning':
      case 'pre-summary':
        return this.#beginStep();
      case 'reasoning-chunk':
        if (event.kind === 'text') return this.#addText('text', event.blockId, event.delta);
        return reasoning ? this.#addText('reasoning', event.blockId, event.delta) : undefined;
      case 'summary-chunk':
        return this.#addText('text', event.blockId, event.delta);
      case 'tool-input-chunk':
        return this.#addToolInput(event.toolUseId, event.name, event.delta);
      case 'hosted-tool-chunk':
        return this.#showHosted(event.hostedTool);
      case 'post-reasoning':
        this.#showAllHosted(event.message);
        this.#endBlock();
        this.#chunks.push(...filesIn(event.message.content), ...sourceChunks(event.message));
        for (const toolUse of toolUsesOf(event.message)) this.#showTool(toolUse);
        return;
      case 'post-summary':
        this.#showAllHosted(event.message);
        return this.#endBlock();
      case 'pre-acting':
        return this.#showTool(event.toolUse);
      case 'acting-chunk':
        if (isDataPart(event.chunk)) return this.#addData(event.chunk);
        return this.#addProgress(event.toolUseId, event.chunk);
      case 'post-acting':
        this.#showTool(event.toolUse);
        this.#openInputs.delete(event.toolUse.id);
        this.#addKeptData(event.result);
        this.#chunks.push(...resultChunks(event.result, this.#toolFields));
        return;
      case 'suspended':
        this.#chunks.push(...event.pending.filter(asksUser).map(toApprovalRequest));
        return;
      case 'step-reset':
        return this.#reset(event);
      case 'error':
        this.#endStep();
        this.#chunks.push({
          type: 'error',
          errorText: `${event.error.message} [${event.error.code}]`,
        });
        return;
      case 'run-end':
        return this.#end(event.result);
    }
  }

  #beginStep(): void {
    this.#endStep();
    this.#hostedTools.clear();
    this.#isInStep = true;
    this.#chunks.push({ type: 'start-step' });
  }

  /**
   * Ends the step and reports tool calls without a result as interrupted. With `keepOpen`, reports
   * only tool calls whose input is incomplete.
   */
  #endStep(keepOpen = false): void {
    this.#endBlock();
    for (const [toolCallId, input] of this.#openInputs) {
      if (keepOpen && input !== undefined) continue;
      this.#chunks.push(outcomeChunk(toolCallId, interrupted, this.#toolFields));
    }
    this.#openInputs.clear();
    for (const id of this.#runningHostedIds) {
      this.#chunks.push(outcomeChunk(id, interrupted, hostedTool));
      this.#openHostedIds.delete(id);
    }
    this.#runningHostedIds.clear();
    if (this.#isInStep) this.#chunks.push({ type: 'finish-step' });
    this.#isInStep = false;
  }

  #addText(kind: 'text' | 'reasoning', blockId: string, delta: string): void {
    const messageId = messageIdOf(blockId);
    if (messageId !== this.#messageIds.at(-1)) this.#messageIds.push(messageId);
    const id = this.#messageIds.length + blockId.slice(messageId.length);
    if (this.#block?.id !== id) {
      if (!this.#isInStep) this.#beginStep();
      this.#endBlock();
      this.#block = { type: `${kind}-end`, id };
      this.#chunks.push({ type: `${kind}-start`, id });
    }
    const last = this.#chunks.at(-1);
    // Nobody else has a chunk of this batch yet.
    if (last && 'delta' in last && last.id === id) (last as { delta: string }).delta += delta;
    else this.#chunks.push({ type: `${kind}-delta`, id, delta });
  }

  #endBlock(): void {
    if (this.#block) this.#chunks.push(this.#block);
    this.#block = undefined;
  }

  #addToolInput(toolCallId: string, toolName: string, inputTextDelta: string): void {
    this.#endBlock();
    if (!this.#openInputs.has(toolCallId)) {
      this.#openInputs.set(toolCallId, undefined);
      this.#chunks.push({ type: 'tool-input-start', toolCallId, toolName, ...this.#toolFields });
    }
    const last = this.#chunks.at(-1);
    if (last?.type === 'tool-input-delta' && last.toolCallId === toolCallId)
      (last as { inputTextDelta: string }).inputTextDelta += inputTextDelta;
    else if (inputTextDelta)
      this.#chunks.push({ type: 'tool-input-delta', toolCallId, inputTextDelta });
  }

  #showTool({ id, name, input, raw }: ToolUse): void {
    // Arguments that are not JSON are shown as text.
    const shownInput = input ?? raw ?? null;
    if (this.#openInputs.get(id) === shownInput) return;
    this.#openInputs.set(id, shownInput);
    this.#chunks.push(callChunk({ id, name, input: shownInput }, this.#toolFields));
  }

  /** Shows a tool of the provider. Its place is before the text that follows it in the reply. */
  #showHosted(hosted: HostedTool): void {
    const { id } = hosted;
    const json = JSON.stringify(hosted);
    if (this.#hostedTools.get(id) === json) return;
    if (!this.#isInStep) this.#beginStep();
    // The result may be in a later reply than its call. A second call part would be a new call.
    const isLate = !this.#hostedTools.has(id) && this.#openHostedIds.has(id);
    this.#hostedTools.set(id, json);
    for (const openIds of [this.#openHostedIds, this.#runningHostedIds])
      if (hasEnded(hosted)) openIds.delete(id);
      else openIds.add(id);
    const outcome = hostedOutcome(hosted);
    if (!isLate) this.#chunks.push(callChunk(hosted, hostedTool));
    if (outcome) this.#chunks.push(outcomeChunk(id, outcome, hostedTool));
  }

  /** Shows the provider's tools that no event of the reply has shown. */
  #showAllHosted({ content }: Msg): void {
    for (const hosted of content.map(hostedToolOf)) if (hosted) this.#showHosted(hosted);
    this.#runningHostedIds.clear();
  }

  #addProgress(toolCallId: string, progress: JsonValue): void {
    this.#chunks.push(
      this.#options.typed
        ? { type: 'data-tool-progress', id: toolCallId, data: { toolCallId, progress } }
        : {
            type: 'tool-output-available',
            toolCallId,
            output: progress,
            ...dynamicTool,
            preliminary: true,
          },
    );
  }

  #addData(part: DataPart): void {
    this.#shownData.add(dataPartKey(part));
    this.#chunks.push(part);
  }

  /**
   * Adds the kept data parts that no event has shown, for example because the stream was resumed.
   */
  #addKeptData(result: ToolResult): void {
    for (const part of dataPartsOf(result))
      if (!this.#shownData.has(dataPartKey(part))) this.#addData(part);
  }

  #reset({ replacement, seq }: Extract<AgentEvent, { type: 'step-reset' }>): void {
    this.#endBlock();
    this.#openInputs.clear();
    if (this.#isInStep) this.#chunks.push({ type: 'reset-step' });
    for (const id of this.#hostedTools.keys()) this.#openHostedIds.delete(id);
    this.#hostedTools.clear();
    this.#runningHostedIds.clear();
    for (const [index, block] of (replacement?.content ?? []).entries()) {
      const hosted = hostedToolOf(block);
      if (hosted) this.#showHosted(hosted);
      if (block.type === 'text' && block.text) this.#addText('text', `${seq}:${index}`, block.text);
    }
    this.#endBlock();
  }

  #end(result: AgentResult): void {
    const { reason, incomplete, usage, durationMs, iterations, error } = result;
    this.#endStep(reason === 'suspended' || reason === 'stopped-by-hook');
    if (reason === 'error') return;
    const messageMetadata = {
      reason,
      // The run that continues a suspended one adds to the same message.
      ...(incomplete && reason !== 'suspended' && { incomplete }),
      usage: { ...usage },
      durationMs,
      iterations,
      ...(error && { code: error.code }),
    };
    if (reason === 'aborted') {
      // An `abort` chunk cannot have metadata, so the metadata is a separate chunk.
      this.#chunks.push(
        { type: 'message-metadata', messageMetadata },
        { type: 'abort', reason: 'aborted' },
      );
      return;
    }
    this.#chunks.push({
      type: 'finish',
      finishReason: finishReasons[answerState(result)],
      messageMetadata,
    });
  }
}

const finishReasons = {
  complete: 'stop',
  calls: 'tool-calls',
  waiting: 'tool-calls',
  length: 'length',
  filtered: 'content-filter',
  incomplete: 'other',
  failed: 'error',
} as const satisfies Readonly<Record<AnswerState, string>>;

function toApprovalRequest({ toolUseId, reason }: PendingCall): UiChunk {
  return {
    type: 'tool-approval-request',
    approvalId: toolUseId,
    toolCallId: toolUseId,
    ...(reason !== undefined && { reason }),
  };
}

const interrupted = { state: 'output-error', errorText: interruptedText } as const;

function callChunk(
  { id, name, input }: Pick<ToolUse, 'id' | 'name' | 'input'>,
  toolFields: ToolFields,
): UiChunk {
  return { type: 'tool-input-available', toolCallId: id, toolName: name, input, ...toolFields };
}
