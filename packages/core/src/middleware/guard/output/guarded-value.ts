import type { ModelDelta } from '../../../model/chat-model.ts';
import { addExtras } from '../../../model/deltas.ts';
import { outputToolName } from '../../../schema/output-format.ts';

export type ToolInput = Extract<ModelDelta, { type: 'tool-input' }>;

/** A withheld tool call: its arguments are the answer, or its name is not known yet. */
export class GuardedValue {
  readonly isJson = true;
  name: string | undefined;
  /** The arguments. After the reply has ended, the rules change them. */
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

  /**
   * Returns the withheld deltas, and clears them. If the rules changed the arguments, returns them
   * as one delta.
   */
  release(): readonly ToolInput[] {
    const deltas = this.#deltas;
    this.#deltas = [];
    const [first, ...others] = deltas;
    if (!first || this.final === this.#raw) return deltas;
    const changed = { ...first, name: this.name!, delta: this.final };
    for (const delta of others) addExtras(changed, delta);
    return [changed];
  }
}
