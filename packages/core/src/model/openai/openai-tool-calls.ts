import { isWholeObject, type JsonObject } from '../../message/json.ts';
import type { ModelDelta } from '../chat-model.ts';
import type { Loose } from '../formatter/formatter.ts';
import { keepFields, keptMetadata, type KeptFields } from './kept-fields.ts';

/** Part of a tool call in a chunk. Any field may be missing or null. */
export type WireToolCall = Loose<{
  index: number;
  id: string;
  function: Loose<{ name: string; arguments: unknown }>;
  /** Contains thought signatures of Gemini, which must be sent back. */
  extra_content: JsonObject;
  /** Sent by LiteLLM. */
  provider_specific_fields: JsonObject;
}>;

/** What a fragment says. An empty text means that the server did not say it. */
interface Fragment {
  readonly index: number | null | undefined;
  readonly id: string;
  readonly name: string;
  readonly text: string;
  /** The fragment, if it has fields that the server must get back. */
  readonly extras: WireToolCall | undefined;
}

/** What the next delta of a call has. */
interface News {
  id?: string;
  name?: string;
  providerMetadata?: JsonObject;
  delta?: string;
}

/** Number of the newest tool calls that a fragment may continue, so that many take linear time. */
const maxSearchedCalls = 256;

/**
 * The tool calls of a reply. Servers split, number and name the fragments of calls in different
 * ways. Three rules hold for all of them:
 *
 * - A fragment without a name never begins a call. It continues an open call, or waits for its
 *   name.
 * - Arguments that are a closed object cannot continue. What follows is a repetition or another
 *   call.
 * - If two readings of a reply are possible, the reply is refused as incomplete.
 */
export class StreamedToolCalls {
  /** Host that gets the extra fields of the calls back. `undefined`: nobody does. */
  readonly #origin: string | undefined;
  /** All calls, also those that are not emitted yet. */
  readonly #all: FragmentCall[] = [];
  /** Calls that are not emitted yet, in their order. */
  readonly #waiting: FragmentCall[] = [];
  /** Number of the emitted calls. */
  count = 0;
  /** Characters of the arguments that are not emitted yet. */
  waitingLength = 0;

  constructor(origin?: string) {
    this.#origin = origin;
  }

  /** Whether no fragment came. */
  get isEmpty(): boolean {
    return this.#all.length === 0;
  }

  /** Returns whether no call lacks a part. `isFinished`: whether the server said why it ended. */
  areComplete(isFinished: boolean): boolean {
    return this.#all.every((call) => {
      if (call.isDropped) return true;
      if (!call.name) return isFinished && !call.input;
      // A call without an id may be a repetition or another call.
      if (call.repeatsOriginal || call.isMixed) return false;
      return (isFinished && !call.mustBeWhole) || isWholeObject(call.input.trimEnd());
    });
  }

  /** Adds a fragment of `tool_calls` to its call, or begins a new call. */
  add(wireCall: WireToolCall, deltas: ModelDelta[]): void {
    const { index, id, function: called, extra_content, provider_specific_fields } = wireCall;
    const fragment: Fragment = {
      index,
      // `trim` throws if the value is not a string. A session log would reject such a value.
      id: id ? id.trim() : '',
      name: called?.name ? called.name.trim() : '',
      text: argumentText(called?.arguments),
      extras: extra_content || provider_specific_fields ? wireCall : undefined,
    };
    if (!fragment.id && !fragment.name && !fragment.text && !fragment.extras) return;
    const call = fragment.name ? this.#namedCall(fragment) : this.#namelessCall(fragment);
    if (!call) return;
    const earlierLength = call.input.length;
    call.add(fragment, this.#origin);
    if (call.index === undefined) this.waitingLength += call.input.length - earlierLength;
    else call.send(call.index, deltas);
    this.emit(deltas, false);
  }

  /**
   * Emits the calls that wait for nothing, in the order in which they began. A call waits for its
   * name and for the end of its name. `isEnd`: whether the reply has no further fragments.
   */
  emit(deltas: ModelDelta[], isEnd: boolean): void {
    for (let call = this.#waiting[0]; call; call = this.#waiting[0]) {
      const isLast = !isEnd && call === this.#all.at(-1);
      const mayChange = call.name ? isLast && call.isEmpty : !isEnd || call.input !== '';
      const hasSameId = Boolean(call.original?.id);
      call.isDropped = hasSameId && call.repeatsOriginal && (call.isClosed || !isLast);
      if (mayChange && !call.isDropped) return;
      this.#waiting.shift();
      this.waitingLength -= call.input.length;
      // Without a name and arguments, it is no call.
      call.isDropped ||= !call.name;
      if (!call.isDropped) call.send(this.count++, deltas);
    }
  }

  /** Returns the call of a fragment with a name. */
  #namedCall(fragment: Fragment): FragmentCall {
    const { index, id } = fragment;
    const call = this.#callOf(fragment);
    if (call?.continuesWith(fragment)) return call;
    const last = this.#all.at(-1);
    // Calls without an id and an index may be equal.
    const mayRepeat = id ? id === call?.id : call?.id || index != null;
    const another = this.#begin(fragment, mayRepeat ? call : undefined);
    // Cerebras and Ollama send several calls with the same index, and DeepSeek and GLM with the
    // same id: https://github.com/ollama/ollama/issues/15457,
    // https://github.com/HKUDS/nanobot/pull/3943. Others send an id with each call. If one of the
    // two calls gets no arguments, the fragments may be parts of one call.
    const neighbor = call ?? (!id && last?.id ? last : undefined);
    if (neighbor) {
      neighbor.mustBeWhole = true;
      another.mustBeWhole = true;
    }
    return another;
  }

  /** Returns the call of a fragment without a name. `undefined` if the fragment repeats a call. */
  #namelessCall(fragment: Fragment): FragmentCall | undefined {
    const { id, text } = fragment;
    const call = this.#callOf(fragment);
    // LM Studio and GLM send a new id with each fragment:
    // https://github.com/NousResearch/hermes-agent/pull/106943
    if (call && (!text || !call.isClosed)) return call;
    const openCall = this.#newest.find(({ name, isClosed }) => name && !isClosed);
    if (call?.isRepeatedBy(text)) {
      const isSure = call.owns(fragment) && (id || !openCall);
      return isSure ? undefined : this.#begin(fragment);
    }
    if (call?.isPlaceholderOf(fragment)) return call;
    if (openCall) return this.#strayCall(fragment, openCall);
    // The model wrote a brace too many, for example. The call fails, and the model corrects it.
    return call && !startsObject(text) ? call : this.#begin(fragment);
  }

  /** Returns the call of arguments at a place of their own. `openCall`: the first open call. */
  #strayCall(fragment: Fragment, openCall: FragmentCall): FragmentCall {
    if (!fragment.text || openCall !== this.#all.at(-1)) return this.#begin(fragment);
    // SGLang gave the arguments another index: https://github.com/sgl-project/sglang/pull/6645
    openCall.wireIndex = fragment.index;
    return openCall;
  }

  get #newest(): readonly FragmentCall[] {
    return this.#all.slice(-maxSearchedCalls).filter(({ isDropped }) => !isDropped);
  }

  /** Returns the newest call with the id of a fragment, or else with its index. */
  #callOf({ id, index }: Fragment): FragmentCall | undefined {
    const newest = this.#newest;
    const sameId = id ? newest.findLast((call) => call.id === id) : undefined;
    return sameId ?? newest.findLast((call) => call.isAt(index));
  }

  #begin({ index }: Fragment, original?: FragmentCall): FragmentCall {
    const call = new FragmentCall(index, original);
    this.#all.push(call);
    this.#waiting.push(call);
    return call;
  }
}

/** A tool call while it streams. */
class FragmentCall {
  /**
   * Index from the provider. It may start at 1, be missing, or be the same for all tool calls.
   * Deltas use the position among the emitted calls instead.
   */
  wireIndex: number | null | undefined;
  /** An earlier call that this call may repeat. */
  readonly original: FragmentCall | undefined;
  /** Position among the emitted calls. */
  index: number | undefined;
  id = '';
  name = '';
  input = '';
  /** Whether the reply is refused if the arguments are not whole. */
  mustBeWhole = false;
  /** Whether the call was a repetition of its original. */
  isDropped = false;
  /** Whether fragments with other ids came between those with the id. They are another call. */
  isMixed = false;
  #hasOtherId = false;
  #news: News = {};
  /** Fields that only the host of the server gets back. */
  readonly #extras: KeptFields = {};
  /** Whether each fragment repeats the arguments so far. */
  #repeatsInput = false;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** Whether the arguments are an object or an array that has ended. */
  isClosed = false;

  constructor(wireIndex: number | null | undefined, original: FragmentCall | undefined) {
    this.wireIndex = wireIndex;
    this.original = original;
  }

  isAt(index: Fragment['index']): boolean {
    return index == null || index === this.wireIndex;
  }

  hasOtherIdThan(id: string): boolean {
    return id !== '' && this.id !== '' && id !== this.id;
  }

  /** Returns whether a fragment has no index and no id of another call. */
  owns({ index, id }: Fragment): boolean {
    return this.isAt(index) && !this.hasOtherIdThan(id);
  }

  /**
   * Returns whether a text says nothing new after the arguments. Some servers send the whole
   * arguments again: https://github.com/lidge-jun/opencodex/issues/361
   */
  isRepeatedBy(text: string): boolean {
    return !text.trim() || text.trim() === this.input.trim();
  }

  /** Whether no arguments came, or only those of a call without arguments. */
  get isEmpty(): boolean {
    return /^\s*(\{\s*\}\s*)?$/.test(this.input);
  }

  /**
   * Returns whether a fragment has the arguments, and those so far are none. LiteLLM sent `{}`
   * first: https://github.com/BerriAI/litellm/issues/4537
   */
  isPlaceholderOf(fragment: Fragment): boolean {
    const isUnsent = this.isEmpty && this.index === undefined;
    return isUnsent && this.owns(fragment) && startsObject(fragment.text);
  }

  /** Whether the call says nothing new after its original. */
  get repeatsOriginal(): boolean {
    const { original, name, input } = this;
    return original !== undefined && original.name === name && original.isRepeatedBy(input);
  }

  /** Returns whether a fragment with a name is a part of the call. */
  continuesWith({ id, name, text }: Fragment): boolean {
    if (this.name && this.name !== name) {
      // Gemini splits names: https://github.com/continuedev/continue/pull/5849
      const mayGetName = !this.input && this.index === undefined;
      return mayGetName && (!id || id === this.id);
    }
    // Fireworks repeats the id and the name: https://github.com/SillyTavern/SillyTavern/pull/5948
    if (!this.isClosed) return !this.hasOtherIdThan(id) || (this.input !== '' && text !== '');
    const isLate = !this.name || (!this.id && id !== '');
    return isLate && !text;
  }

  /** Adds what is new in a fragment. */
  add({ id, name, text, extras }: Fragment, origin: string | undefined): void {
    if (id && !this.id) {
      this.id = id;
      this.#news.id = id;
    }
    if (id && id !== this.id) {
      this.#hasOtherId = true;
      this.mustBeWhole ||= name !== '';
    } else if (id && this.#hasOtherId) this.isMixed = true;
    // Some servers repeat the name.
    if (name && name !== this.name) {
      this.name += name;
      this.#news.name = this.name;
    }
    if (extras) {
      keepFields(this.#extras, extras);
      const providerMetadata = keptMetadata(origin, this.#extras);
      if (providerMetadata) this.#news.providerMetadata = providerMetadata;
    }
    this.#addText(text);
  }

  #addText(text: string): void {
    if (this.isClosed && startsObject(text)) {
      this.input = '';
      this.#news.delta = '';
      this.isClosed = false;
    }
    const newText = this.#newText(text);
    if (!newText) return;
    this.#scan(newText);
    this.input += newText;
    this.#news.delta = (this.#news.delta ?? '') + newText;
  }

  /**
   * Returns what is new in the text of a fragment. Some servers repeat the arguments so far in each
   * fragment: https://github.com/NousResearch/hermes-agent/pull/35718
   */
  #newText(text: string): string {
    const { input } = this;
    // The length is compared first: reading a long text that was joined from pieces copies it.
    if (text.length < input.length) return text;
    if (!input.startsWith('{') || !text.startsWith(input)) return text;
    // Only here, an object within the arguments may begin as they do.
    const mayBeInner = !this.#isInString && /[:,[]\s*$/.test(input);
    if (mayBeInner && !this.#repeatsInput) {
      this.mustBeWhole = true;
      return text;
    }
    this.#repeatsInput = true;
    return text.slice(input.length);
  }

  /** Adds a delta with what is new to `deltas`, if anything is. */
  send(index: number, deltas: ModelDelta[]): void {
    this.index = index;
    const news = this.#news;
    this.#news = {};
    if (Object.keys(news).length)
      deltas.push({ type: 'tool-input', index, ...news, delta: news.delta ?? '' });
  }

  /**
   * Finds the end of the arguments. Reads each character once, so that long arguments are cheap.
   */
  #scan(text: string): void {
    for (const char of text) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (this.#isInString) {
        this.#isEscaped = char === '\\';
        this.#isInString = char !== '"';
      } else if (char === '"') this.#isInString = true;
      else if (char === '{' || char === '[') this.#depth++;
      else if (char === '}' || char === ']') {
        this.#depth--;
        if (this.#depth < 1) this.isClosed = true;
      }
    }
  }
}

function startsObject(text: string): boolean {
  return /^\s*[[{]/.test(text);
}

/** Returns arguments as text, because some local servers send an object. */
export function argumentText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value == null ? '' : JSON.stringify(value);
}
