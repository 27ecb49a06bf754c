import type { Page } from 'playwright';
import { inject } from 'vitest';
import { chooseModel, type homes } from './open-demo.ts';

/** Chooses the model of `held-model.ts`, which pauses during its answers. */
export async function chooseHeldModel(page: Page, home: (typeof homes)[number]): Promise<void> {
  if (home === 'At the edge') await chooseModel(page, /The edge’s model/);
  else await chooseModel(page, /OpenAI-compatible/, { baseURL: `${inject('heldModelUrl')}/v1` });
}

/**
 * Returns a unique question, so that each test continues only its own answer. The id in the
 * question has no digits, because the offline rules would calculate with them.
 */
export function heldQuestion(about = 'about the history of tea in'): string {
  return `Tell me ${about} ${uniqueLetters()}`;
}

/** Returns a unique question whose answer pauses when its tools have run. */
export function heldAfterTools(question: string): string {
  return `${question} Pause after the tools, ${uniqueLetters()}`;
}

function uniqueLetters(): string {
  return crypto.randomUUID().replace(/[^a-f]/g, '');
}

/**
 * Lets the model continue its answer to this question. Later answers to the same question do not
 * pause.
 */
export async function release(question: string): Promise<void> {
  await fetch(`${inject('heldModelUrl')}/release`, { method: 'POST', body: question });
}
