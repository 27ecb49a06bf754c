import { isRecord } from '@isoloop/core/message';
import { AgentError } from '@isoloop/core';
import {
  JsonReader,
  getToolName,
  isToolUIPart,
  type DataUIPart,
  type TextUIPart,
  type UiChunk,
  type UIMessage,
  type UIMessagePart,
} from '@isoloop/core/stream';
import type { CallPart } from './call-parts.ts';
import { isEqual } from './is-equal.ts';

type Fields = Readonly<Record<string, unknown>>;
type ChunkOf<Type> = Extract<UiChunk, { readonly type: Type }>;

/**
 * Reads the chunks of an agent's answer. After each chunk, `message` is what AI SDK's reader has. A
 * change replaces the message and the changed part; the other parts stay the same objects.
 */
export class AnswerReader {
  message: UIMessage;
  finishReason: string | undefined;
  /** Whether somebody has stopped the answer. */
  isAborted = false;
  /** Places of the texts that still grow, by kind and id. */
  readonly #growing: Map<string, number> = new Map();
  /** Readers of the arguments that still grow, by the id of their call. */
  readonly #inputs: Map<string, JsonReader> = new Map();

  constructor(message: UIMessage) {
    this.message = message;
  }

  /** Throws for an `error` chunk, and for a chunk about something that has not begun. */
  take(chunk: UiChunk): void {
    switch (chunk.type) {
      case 'start':
        return this.#start(chunk);
      case 'start-step':
        return this.#add({ type: 'step-start' });
      case 'reset-step':
        this.#growing.clear();
        return this.#show(this.#parts.slice(0, this.#stepStart));
      case 'text-start':
      case 'reasoning-start':
        return this.#beginText(chunk);
      case 'text-delta':
      case 'text-end':
      case 'reasoning-delta':
      case 'reasoning-end':
        return this.#growText(chunk);
      case 'file': {
        const { type, mediaType, url } = chunk;
        return this.#add({ type, mediaType, url });
      }
      case 'source-url':
      case 'source-document':
        return this.#add({ ...chunk });
      case 'message-metadata':
        return this.#addMetadata(chunk.messageMetadata);
      case 'finish':
        this.finishReason = chunk.finishReason ?? this.finishReason;
        return this.#addMetadata(chunk.messageMetadata);
      case 'abort':
        this.isAborted = true;
        return;
      case 'error':
        throw new Error(chunk.errorText);
      default:
        if ('data' in chunk) return this.#takeData(chunk);
        return this.#takeCall(chunk);
    }
  }

  get #parts(): UIMessagePart[] {
    return this.message.parts;
  }

  /** Place of the first part of the current step. */
  get #stepStart(): number {
    return this.#parts.findLastIndex(({ type }) => type === 'step-start') + 1;
  }

  #show(parts: UIMessagePart[]): void {
    this.message = { ...this.message, parts };
  }

  #add(part: Fields): void {
    this.#show([...this.#parts, withoutUndefined(part)]);
  }

  #change(index: number, fields: Fields): void {
    const part: Fields = { ...this.#parts[index] };
    // Some providers repeat the state of a call.
    if (Object.entries(fields).every(([name, value]) => isEqual(value, part[name]))) return;
    this.#replace(index, fields);
  }

  /** Replaces a part without a comparison, which would read all of a long part for each piece. */
  #replace(index: number, fields: Fields): void {
    const part: Fields = { ...this.#parts[index], ...fields };
    this.#show(this.#parts.with(index, withoutUndefined(part)));
  }

  /** A `start` with another id begins another message. */
  #start({ messageId, messageMetadata }: ChunkOf<'start'>): void {
    if (messageId !== undefined && messageId !== this.message.id) {
      this.#growing.clear();
      this.message = { id: messageId, role: 'assistant', parts: [] };
    }
    this.#addMetadata(messageMetadata);
  }

  #addMetadata(added: unknown): void {
    if (added == null) return;
    this.message = { ...this.message, metadata: mergeMetadata(this.message.metadata, added) };
  }

  #beginText({ type, id }: ChunkOf<'text-start' | 'reasoning-start'>): void {
    const [kind = ''] = type.split('-');
    this.#growing.set(`${kind} ${id}`, this.#parts.length);
    const text = { type: kind, text: '', state: 'streaming' };
    this.#add(kind === 'text' ? text : { ...text, id });
  }

  #growText(chunk: ChunkOf<'text-delta' | 'text-end' | 'reasoning-delta' | 'reasoning-end'>): void {
    const { type, id } = chunk;
    const key = `${type.split('-')[0]} ${id}`;
    const index = checkedIndex(this.#growing.get(key), type, id);
    const part = this.#parts[index] as TextUIPart;
    if ('delta' in chunk) {
      return chunk.delta ? this.#replace(index, { text: part.text + chunk.delta }) : undefined;
    }
    this.#growing.delete(key);
    this.#change(index, { state: 'done' });
  }

  #takeData(chunk: ChunkOf<`data-${string}`>): void {
    const { type, id, data, transient } = chunk;
    if (transient) return;
    const index = this.#parts.findIndex(
      (part) => part.type === type && (part as DataUIPart).id === id,
    );
    if (index < 0 || id === undefined) this.#add(chunk as Fields);
    else this.#change(index, { data });
  }

  #takeCall(chunk: Exclude<UiChunk, ChunkOf<`data-${string}`>>): void {
    switch (chunk.type) {
      case 'tool-input-start':
        return this.#begin('input-streaming', chunk);
      case 'tool-input-delta':
        return this.#growInput(chunk);
      case 'tool-input-available':
        return this.#begin('input-available', chunk);
      case 'tool-output-available':
        return this.#end('output-available', chunk);
      case 'tool-output-error':
        return this.#end('output-error', chunk);
      case 'tool-output-denied':
        return this.#change(this.#call(chunk), { state: 'output-denied' });
      case 'tool-approval-request':
        return this.#ask(chunk);
      case 'tool-approval-response':
        return this.#answer(chunk);
    }
  }

  /** Place of a call in the current step, or -1. */
  #inStep(isSought: (part: CallPart) => boolean): number {
    const start = this.#stepStart;
    return this.#parts.findIndex(
      (part, index) => index >= start && isToolUIPart(part) && isSought(part),
    );
  }

  /** Place of the call in this step, or in an earlier one. */
  #call({ type, toolCallId }: { readonly type: string; readonly toolCallId: string }): number {
    const index = this.#parts.findLastIndex(
      (part) => isToolUIPart(part) && part.toolCallId === toolCallId,
    );
    return checkedIndex(index, type, toolCallId);
  }

  /** Sets the state of a call in the current step. An unknown call is added. */
  #begin(state: string, call: CallFields): void {
    this.#inputs.delete(call.toolCallId);
    const index = this.#inStep((part) => part.toolCallId === call.toolCallId);
    if (index < 0) this.#add(callOf(state, call, {}));
    else this.#change(index, callOf(state, call, { ...this.#parts[index] }));
  }

  #end(state: string, chunk: ChunkOf<'tool-output-available' | 'tool-output-error'>): void {
    const index = this.#call(chunk);
    const part = this.#parts[index] as CallPart;
    const dynamic = part.type === 'dynamic-tool';
    const { input, rawInput }: Fields = { ...part };
    const inputs = dynamic || 'output' in chunk ? { input } : { input, rawInput };
    const fields = { ...chunk, ...inputs, dynamic, toolName: getToolName(part) };
    this.#change(index, callOf(state, fields, { ...part }));
  }

  #growInput({ type, toolCallId, inputTextDelta }: ChunkOf<'tool-input-delta'>): void {
    const isGrowing = (part: CallPart): boolean =>
      part.toolCallId === toolCallId && part.state === 'input-streaming';
    const index = checkedIndex(this.#inStep(isGrowing), type, toolCallId);
    const part = this.#parts[index] as Extract<CallPart, { state: 'input-streaming' }>;
    const reader = this.#inputReader(toolCallId, part.rawInput);
    reader.push(inputTextDelta);
    const rawInput = (part.rawInput ?? '') + inputTextDelta;
    this.#replace(index, { input: inputSoFar(reader, part.input), rawInput });
  }

  /** Returns the reader of a call's arguments. `rawInput`: the arguments of the message so far. */
  #inputReader(toolCallId: string, rawInput: string | undefined): JsonReader {
    const knownReader = rawInput === undefined ? undefined : this.#inputs.get(toolCallId);
    if (knownReader) return knownReader;
    const reader = new JsonReader({ showsIncomplete: true });
    reader.push(rawInput ?? '');
    this.#inputs.set(toolCallId, reader);
    return reader;
  }

  #ask(chunk: ChunkOf<'tool-approval-request'>): void {
    const approval = withoutUndefined({ id: chunk.approvalId, requestReason: chunk.reason });
    this.#change(this.#call(chunk), { state: 'approval-requested', approval });
  }

  #answer({ type, approvalId, approved, ...chunk }: ChunkOf<'tool-approval-response'>): void {
    const index = this.#parts.findIndex(
      (part) => isToolUIPart(part) && part.approval?.id === approvalId,
    );
    const part = this.#parts[checkedIndex(index, type, approvalId)] as CallPart;
    const reason = chunk.reason ?? part.approval?.reason;
    this.#change(index, {
      state: 'approval-responded',
      approval: withoutUndefined({ ...part.approval, approved, reason }),
    });
  }
}

/** Returns the value of the arguments so far. A long open list changes less often than it grows. */
function inputSoFar(reader: JsonReader, lastInput: unknown): unknown {
  if (reader.state === 'broken') return undefined;
  return reader.isCheap || reader.state === 'complete' ? reader.value : lastInput;
}

/** What a chunk says about a tool call. The lower fields belong to its state. */
interface CallFields {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly dynamic?: boolean | undefined;
  readonly providerExecuted?: boolean;
  readonly toolMetadata?: object | undefined;
  readonly input?: unknown;
  readonly rawInput?: unknown;
  readonly output?: unknown;
  readonly preliminary?: boolean;
  readonly errorText?: string;
}

/** Returns the fields of a call in a new state. What `part` had for its earlier state goes. */
function callOf(state: string, call: CallFields, part: Fields): Fields {
  const { toolCallId, toolName, dynamic } = call;
  const { input, rawInput, output, preliminary, errorText } = call;
  return {
    type: dynamic ? 'dynamic-tool' : `tool-${toolName}`,
    toolName: dynamic ? toolName : undefined,
    toolCallId,
    state,
    toolMetadata: call.toolMetadata ?? part['toolMetadata'],
    providerExecuted: call.providerExecuted ?? part['providerExecuted'],
    input,
    rawInput,
    output,
    preliminary,
    errorText,
  };
}

/** Returns a part without the fields that are `undefined`. */
function withoutUndefined<T = UIMessagePart>(part: Fields): T {
  return Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined)) as T;
}

/** Merges metadata at every depth. A list replaces the earlier one. */
function mergeMetadata(earlier: unknown, addition: unknown): unknown {
  if (![earlier, addition].every(isRecord)) return addition;
  const result: Record<string, unknown> = { ...(earlier as Fields) };
  for (const [name, value] of Object.entries(addition as Fields)) {
    if (name !== '__proto__' && value !== undefined)
      result[name] = mergeMetadata(result[name], value);
  }
  return result;
}

/** Returns a place in the parts. Throws if there is none. */
function checkedIndex(index = -1, type: string, id: string): number {
  if (index >= 0) return index;
  throw new AgentError('INTERNAL', `The stream has ${type} before ${id} begins.`);
}
