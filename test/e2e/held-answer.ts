import type { Page } from 'playwright';
import { inject } from 'vitest';
import { chooseModel, type homes } from './demo-server.ts';

/** Chooses the model that pauses during its answers. See `held-model.ts`. */
export async function chooseHeldModel(page: Page, home: (typeof homes)[number]): Promise<void> {
  if (home === 'At the edge') await chooseModel(page, /The edge’s model/);
  else await chooseModel(page, /OpenAI-compatible/, { baseURL: `${inject('heldModelUrl')}/v1` });
}

/**
 * Returns a unique question, so that tests release only their own answers. Its id has no digits,
 * because the offline rules would calculate with them.
 */
export function heldQuestion(about = 'about the history of tea in'): string {
  return `Tell me ${about} ${crypto.randomUUID().replace(/[^a-f]/g, '')}`;
}

/** Releases the rest of the answer to this question, now and for every repetition. */
export async function release(question: string): Promise<void> {
  await fetch(`${inject('heldModelUrl')}/release`, { method: 'POST', body: question });
}
