import { isWholeObject, type JsonObject } from '../../message/json.ts';
import type { ModelDelta } from '../chat-model.ts';
import type { Loose } from '../formatter.ts';
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
  readonly wireCall: WireToolCall;
}

/** Number of the newest tool calls that a fragment may continue, so that many take linear time. */
const maxSearchedCalls = 256;

/**
 * The tool calls of a reply. Servers split, number and name the fragments of calls in different
 * ways. Three rules hold for all of them:
 *
 * - A fragment without a name never begins a call. It continues an open call, or waits for its name.
 * - Arguments that are a closed object cannot continue. What follows is a repetition or another call.
 * - If two readings of a reply are possible, the reply is refused as incomplete.
 */
export class StreamedToolCalls {
  /** Host that gets the extra fields of the calls back. `undefined`: nobody does. */
  readonly #origin: string | undefined;
  /** All calls, also those that are not emitted yet. */
  readonly #all: StreamedCall[] = [];
  /** Calls that are not emitted yet, in their order. */
  readonly #waiting: StreamedCall[] = [];
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
    if (!isFinished && this.#waiting.some(({ name, input }) => !name || !input)) return false;
    return this.#all.every((call) => {
      if (call.isDropped) return true;
      if (!call.name) return !call.input;
      // A call without an id may be a repetition or another call.
      if (call.hasSameContent || call.hasTwoReadings) return false;
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
      wireCall,
    };
    const hasExtras = extra_content || provider_specific_fields;
    if (!fragment.id && !fragment.name && !fragment.text && !hasExtras) return;
    const call = fragment.name ? this.#namedCall(fragment) : this.#namelessCall(fragment);
    if (!call) return;
    const earlierLength = call.input.length;
    const delta = call.add(fragment, this.#origin);
    if (call.index === undefined) this.waitingLength += call.input.length - earlierLength;
    else if (delta) deltas.push({ type: 'tool-input', index: call.index, ...delta });
    this.emit(deltas, false);
  }

  /**
   * Emits the calls that wait for nothing, in the order in which they began. A call waits for its
   * name and for the end of its name. `isEnd`: whether the reply has no further fragments.
   */
  emit(deltas: ModelDelta[], isEnd: boolean): void {
    for (let call = this.#waiting[0]; call; call = this.#waiting[0]) {
      const isLast = !isEnd && call === this.#all.at(-1);
      call.isDropped = call.isRepetition && (call.isClosed || !isLast);
      if (!call.isDropped) {
        if (!call.name && (!isEnd || call.input)) return;
        const isUndecided = call.original && !call.isClosed;
        if (isUndecided ? !isEnd : isLast && call.isEmpty) return;
      }
      this.#waiting.shift();
      this.waitingLength -= call.input.length;
      // Without a name and arguments, it is no call.
      call.isDropped ||= !call.name;
      if (call.isDropped) continue;
      deltas.push(...call.begin(this.count++));
    }
  }

  /** Returns the call of a fragment with a name. */
  #namedCall(fragment: Fragment): StreamedCall {
    const { sameId, samePlace } = this.#candidates(fragment);
    if (sameId) return this.#sharedCall(sameId, fragment);
    if (samePlace?.isClosed) return this.#callAfter(samePlace, fragment);
    if (samePlace) return this.#openCall(samePlace, fragment);
    // A server that sends ids sends one with each call.
    const newest = this.#all.at(-1);
    const isDoubtful = newest?.beganWithId && !fragment.id;
    return isDoubtful ? this.#beginBeside(newest, fragment, false) : this.#begin(fragment);
  }

  /** Returns the call of a named fragment at the place of a call whose arguments have ended. */
  #callAfter(call: StreamedCall, fragment: Fragment): StreamedCall {
    const { index, id, name, text } = fragment;
    const hasSameName = call.name === name;
    const hasLateField = !call.name || (hasSameName && !call.id && id);
    if (hasLateField && !text) return call;
    const isNumbered = index != null || call.id !== '';
    return this.#beginBeside(call, fragment, hasSameName && !id && (isNumbered || !text));
  }

  /** Returns the call of a named fragment at the place of an open call. */
  #openCall(call: StreamedCall, fragment: Fragment): StreamedCall {
    const { id, name, text } = fragment;
    if (!call.name) return call;
    const hasOtherId = id !== '' && call.id !== '';
    if (call.name === name && (!hasOtherId || (call.input && text))) {
      call.mustBeWhole ||= hasOtherId;
      return call;
    }
    // Gemini splits names: https://github.com/continuedev/continue/pull/5849
    if (!id && call.beganWithId && call.mayContinueWith(name)) return call;
    return this.#beginBeside(call, fragment, false);
  }

  /** Returns the call of a fragment with a name and the id of an earlier call. */
  #sharedCall(call: StreamedCall, fragment: Fragment): StreamedCall {
    const { index, name, text } = fragment;
    const hasSameName = !call.name || call.name === name;
    // Fireworks repeats the id and the name: https://github.com/SillyTavern/SillyTavern/pull/5948
    if (hasSameName && (!call.isClosed || (!call.name && !text))) return call;
    const isSamePlace = index == null || index === call.wireIndex;
    if (isSamePlace && call.mayContinueWith(name)) return call;
    // DeepSeek and GLM share an id among calls: https://github.com/HKUDS/nanobot/pull/3943
    return this.#beginBeside(call, fragment, true);
  }

  /** Returns the call of a fragment without a name. `undefined` if the fragment repeats a call. */
  #namelessCall(fragment: Fragment): StreamedCall | undefined {
    const { id, text } = fragment;
    const { sameId, samePlace, newest } = this.#candidates(fragment);
    const call = sameId ?? samePlace;
    // LM Studio and GLM send a new id with each fragment:
    // https://github.com/NousResearch/hermes-agent/pull/106943
    if (call && (!text || !call.isClosed)) return call;
    const openCalls = newest.filter(({ isClosed }) => !isClosed);
    const isRepetition = call?.isRepeatedBy(text) ?? false;
    if (call?.isPlaceholderOf(fragment)) {
      this.waitingLength -= call.input.length;
      call.clearInput();
      return call;
    }
    if (!isRepetition) return this.#strayCall(fragment, openCalls, call);
    const isSure = sameId !== undefined || (!id && !openCalls.length);
    return isSure ? undefined : this.#begin(fragment);
  }

  /** Returns the call of a fragment without a name that has no call or an ended call at its place. */
  #strayCall(
    fragment: Fragment,
    openCalls: readonly StreamedCall[],
    endedCall: StreamedCall | undefined,
  ): StreamedCall {
    const { index, id, text } = fragment;
    const waitingCalls = openCalls.filter(({ name }) => name);
    const last = this.#all.at(-1);
    if (text && !id && openCalls.length === 1 && last && waitingCalls[0] === last) {
      // SGLang gave the arguments another index: https://github.com/sgl-project/sglang/pull/6645
      last.mustBeWhole = true;
      last.tailIndex = index;
      return last;
    }
    // The model wrote a brace too many, for example. The call fails, and the model corrects it.
    if (endedCall && !waitingCalls.length && !/^\s*[[{]/.test(text)) return endedCall;
    const call = this.#begin(fragment);
    call.hasTwoReadings = text !== '' && waitingCalls.length > 0;
    return call;
  }

  /**
   * Begins a call at the place or with the id of another one. Cerebras and Ollama send several
   * calls with the same index (https://github.com/ollama/ollama/issues/15457). If one of the calls
   * gets no arguments, the fragments may be parts of one call.
   */
  #beginBeside(call: StreamedCall, fragment: Fragment, mayRepeat: boolean): StreamedCall {
    const another = this.#begin(fragment, mayRepeat ? call : undefined);
    call.mustBeWhole = true;
    another.mustBeWhole = true;
    return another;
  }

  #candidates({ id, index }: Fragment): {
    readonly sameId: StreamedCall | undefined;
    readonly samePlace: StreamedCall | undefined;
    readonly newest: readonly StreamedCall[];
  } {
    const newest = this.#all.slice(-maxSearchedCalls).filter(({ isDropped }) => !isDropped);
    return {
      sameId: id ? newest.findLast((call) => call.id === id) : undefined,
      samePlace: newest.findLast((call) => index == null || call.isAt(index)),
      newest,
    };
  }

  #begin({ index, id }: Fragment, original?: StreamedCall): StreamedCall {
    const call = new StreamedCall(index, id !== '', original);
    this.#all.push(call);
    this.#waiting.push(call);
    return call;
  }
}

/** A tool call while it streams. */
class StreamedCall {
  /**
   * Index from the provider. It may start at 1, be missing, or be the same for all tool calls.
   * Deltas use the position among the emitted calls instead.
   */
  wireIndex: number | null | undefined;
  /** Another index that the later fragments have. */
  tailIndex: number | null | undefined;
  readonly beganWithId: boolean;
  /** An earlier call that this call may repeat. */
  readonly original: StreamedCall | undefined;
  /** Position among the emitted calls. */
  index: number | undefined;
  id = '';
  name = '';
  input = '';
  /** Deltas that wait until the call is emitted. */
  pieces: ToolInput[] = [];
  /** Whether the reply is refused if the arguments are not whole. */
  mustBeWhole = false;
  /** Whether the call was a repetition of its original. */
  isDropped = false;
  /** Whether fragments of the call may belong to another call. */
  hasTwoReadings = false;
  /** Fields that only the host of the server gets back. */
  readonly #extras: KeptFields = {};
  #hasOtherId = false;
  /** Whether each fragment repeats the arguments so far. */
  #repeatsInput = false;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** Whether the arguments are an object or an array that has ended. */
  isClosed = false;

  constructor(
    wireIndex: number | null | undefined,
    beganWithId: boolean,
    original: StreamedCall | undefined,
  ) {
    this.wireIndex = wireIndex;
    this.beganWithId = beganWithId;
    this.original = original;
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
  isPlaceholderOf({ index, id, text }: Fragment): boolean {
    const isAtPlace = index == null ? id !== '' : this.isAt(index);
    const isOwn = isAtPlace && (!id || id === this.id);
    return isOwn && this.isEmpty && this.index === undefined && /^\s*\{\s*("|$)/.test(text);
  }

  /** Removes the arguments so far of a call that is not emitted. */
  clearInput(): void {
    this.pieces = this.pieces.map((piece) => ({ ...piece, delta: '' }));
    this.input = '';
    this.isClosed = false;
    this.mustBeWhole = true;
  }

  isAt(index: number): boolean {
    return this.wireIndex === index || this.tailIndex === index;
  }

  /** Whether the call has the id of its original, and says nothing new. */
  get isRepetition(): boolean {
    const { original, id, name, input } = this;
    if (!original || name !== original.name) return false;
    const hasSameId = original.id !== '' && (!id || id === original.id);
    return hasSameId && (!input || this.hasSameContent);
  }

  /** Whether the name and the arguments are those of the original. */
  get hasSameContent(): boolean {
    const { original, name, input } = this;
    return original?.name === name && input !== '' && original.isRepeatedBy(input);
  }

  /** Returns whether a text may be a further part of the name. */
  mayContinueWith(name: string): boolean {
    return !this.input && this.index === undefined && !this.name.startsWith(name);
  }

  /** Adds what is new in a fragment. Returns its delta, if anything is new. */
  add(fragment: Fragment, origin: string | undefined): ToolInput | undefined {
    const { index, id, name, wireCall } = fragment;
    const text = this.#newText(fragment.text);
    this.wireIndex ??= index;
    const newId = this.#addId(id);
    const isNewName = this.#addName(name);
    this.#scan(text);
    this.input += text;
    // Some servers repeat the id and the name while they wait.
    const hasExtras = keepFields(this.#extras, wireCall);
    const providerMetadata = hasExtras ? keptMetadata(origin, this.#extras) : undefined;
    if (!newId && !isNewName && !text && !providerMetadata) return undefined;
    const piece = {
      ...(newId && { id: newId }),
      ...(providerMetadata && { providerMetadata }),
      delta: text,
    };
    if (this.index !== undefined) return piece;
    this.pieces.push(piece);
    return undefined;
  }

  /**
   * Returns what is new in the text of a fragment. Some servers repeat the arguments so far in each
   * fragment: https://github.com/NousResearch/hermes-agent/pull/35718
   */
  #newText(text: string): string {
    const { input } = this;
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

  /** Returns the id if it is new. The first id counts. */
  #addId(id: string): string {
    if (!id || id === this.id) {
      // The fragments with other ids were other calls.
      this.hasTwoReadings ||= id !== '' && this.#hasOtherId;
      return '';
    }
    this.#hasOtherId = this.id !== '';
    const newId = this.id ? '' : id;
    this.id ||= id;
    return newId;
  }

  /** Adds the name or a part of it. Returns whether it is new. */
  #addName(name: string): boolean {
    if (!name || name === this.name) return false;
    this.mustBeWhole ||= this.name !== '' || this.input !== '';
    this.name += name;
    return true;
  }

  /** Returns the deltas so far. The first one has the name, so that readers see it at once. */
  begin(index: number): readonly ModelDelta[] {
    const [first, ...others] = this.pieces;
    const { id = '', ...fields } = first!;
    this.index = index;
    this.pieces = [];
    const head = { ...(id && { id }), name: this.name, ...fields };
    return [head, ...others].map((piece) => ({ type: 'tool-input', index, ...piece }));
  }

  /** Finds the end of the arguments. Reads each character once, so that long arguments are cheap. */
  #scan(text: string): void {
    for (const char of text) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (this.#isInString) {
        this.#isEscaped = char === '\\';
        this.#isInString = char !== '"';
      } else if (char === '"') this.#isInString = true;
      else if (char === '{' || char === '[') this.#depth++;
      else if (char === '}' || char === ']') this.isClosed ||= --this.#depth < 1;
    }
  }
}

/** Delta of a call whose index is not known yet. */
type ToolInput = Omit<Extract<ModelDelta, { readonly type: 'tool-input' }>, 'type' | 'index'>;

/** Returns arguments as text, because some local servers send an object. */
export function argumentText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value == null ? '' : JSON.stringify(value);
}
