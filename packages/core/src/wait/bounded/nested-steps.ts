/** A wrapper or a step of a run that has not ended. */
export interface NestedStep {
  /** Function to call when nothing runs inside any more. */
  onInnermost: (() => void) | undefined;
}

/**
 * The wrappers and steps of a run that have not ended, in the order of their begin. What began
 * later is inside.
 */
export class NestedSteps {
  readonly #steps: Set<NestedStep> = new Set();

  get size(): number {
    return this.#steps.size;
  }

  begin(): NestedStep {
    const step: NestedStep = { onInnermost: undefined };
    this.#steps.add(step);
    return step;
  }

  /** Returns whether nothing runs inside a step. */
  isInnermost(step: NestedStep): boolean {
    return step === this.#innermost;
  }

  /** Ends a step, and tells the one around it if that now is the innermost one. */
  end(step: NestedStep): void {
    this.#steps.delete(step);
    const outer = this.#innermost;
    const tell = outer?.onInnermost;
    if (!tell) return;
    outer.onInnermost = undefined;
    tell();
  }

  get #innermost(): NestedStep | undefined {
    return [...this.#steps].at(-1);
  }
}
