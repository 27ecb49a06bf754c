import type { ModelDelta } from '@isoloop/core';
import { addExtras, type BlockExtras, type TextDelta } from '@isoloop/core/model';
import { outputToolName } from '@isoloop/core/host';
import type { RuleWindow } from './rule-window.ts';

/** A part of a reply that the rules check. */
export interface GuardedPart {
  /** Whether the rules search each string of the part on its own. */
  readonly isJson: boolean;
  /** The whole text of the part. After the reply has ended, the rules change it. */
  final: string;
  /** Returns the deltas that readers do not have yet. */
  rest(): readonly ModelDelta[];
}

/** One text block or thinking block of a reply, which the rules check. */
export class GuardedText implements GuardedPart {
  readonly type: TextDelta['type'];
  readonly id: string;
  readonly isJson: boolean;
  final = '';
  /** The text as the model wrote it. */
  #raw = '';
  /** The end of `#raw` that did not pass the windows yet. */
  #unchecked = '';
  /** The text that readers have. */
  #released = '';
  readonly #windows: readonly RuleWindow[];
  /** What the provider added to the text. Readers get it with the last piece of the text. */
  readonly #extras: BlockExtras = {};

  constructor(
    { type, id }: Pick<TextDelta, 'type' | 'id'>,
    isJson: boolean,
    windows: readonly RuleWindow[],
  ) {
    this.type = type;
    this.id = id;
    this.isJson = isJson;
    this.#windows = windows;
  }

  add(delta: TextDelta): void {
    this.final = this.#raw += delta.delta;
    this.#unchecked += delta.delta;
    addExtras(this.#extras, delta);
  }

  /** Returns the next text that the rules let pass. `isEnd`: the text is complete. */
  pass(isEnd: boolean): string {
    if (!this.#unchecked && !isEnd) return '';
    let passed = this.#unchecked;
    this.#unchecked = '';
    for (const window of this.#windows) passed = window.push(passed, isEnd);
    return passed;
  }

  /** Returns a delta with text that passed, for the readers. */
  release(text: string): ModelDelta {
    this.#released += text;
    return { type: this.type, id: this.id, delta: text };
  }

  /** Whether the text that readers have is the beginning of the final text. */
  get isContinued(): boolean {
    return this.final.startsWith(this.#released);
  }

  rest(): readonly ModelDelta[] {
    return this.#lastDelta(this.#released.length);
  }

  /** Returns the whole final text, for readers who discarded what they had. */
  whole(): readonly ModelDelta[] {
    return this.#lastDelta(0);
  }

  /** Returns the final text from an index as the last delta, or nothing if it would be empty. */
  #lastDelta(start: number): readonly ModelDelta[] {
    const delta = this.final.slice(start);
    // What the provider added is valid for the provider's own text only.
    const added = this.final === this.#raw ? this.#extras : {};
    const isEmpty = !delta && !Object.keys(added).length;
    return isEmpty ? [] : [{ type: this.type, id: this.id, delta, ...added }];
  }
}

export type ToolInput = Extract<ModelDelta, { type: 'tool-input' }>;

/** A withheld tool call: its arguments are the answer, or its name is not known yet. */
export class GuardedValue implements GuardedPart {
  readonly isJson = true;
  name: string | undefined;
  final = '';
  /** The arguments as the model wrote them. */
  #raw = '';
  #deltas: ToolInput[] = [];

  add(delta: ToolInput): void {
    this.#deltas.push(delta);
    this.name ||= delta.name;
    this.final = this.#raw += delta.delta;
  }

  /**
   * Whether the arguments of the tool call are the answer. Such a tool call is withheld until the
   * reply ends.
   */
  get isAnswer(): boolean {
    return this.name === outputToolName;
  }

  /** Releases the withheld deltas. If the rules changed the arguments, makes them one delta. */
  rest(): readonly ToolInput[] {
    const deltas = this.#deltas;
    this.#deltas = [];
    const [first, ...others] = deltas;
    if (!first || this.final === this.#raw) return deltas;
    const changed = { ...first, name: this.name!, delta: this.final };
    for (const delta of others) addExtras(changed, delta);
    return [changed];
  }
}
