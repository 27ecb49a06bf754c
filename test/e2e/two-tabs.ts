import type { Page } from 'playwright';
import { expect } from 'vitest';
import { chooseHeldModel } from './held-answer.ts';
import {
  answers,
  ask,
  atRest,
  goHome,
  openDemo,
  openTab,
  questions,
  type homes,
} from './open-demo.ts';

interface TwoTabs {
  /** The first question. Default: "What is 1 + 1?" */
  readonly begin?: string;
  /**
   * Whether the model of `held-model.ts` answers. The first tab chooses the model before the second
   * tab opens, because each tab reconnects when the model changes. The first tab thus stays the
   * leader.
   */
  readonly held?: boolean;
}

/** Opens the demo in two tabs of one profile, after one question and its answer. */
export async function openTwo(
  home: (typeof homes)[number],
  { begin = 'What is 1 + 1?', held = false }: TwoTabs = {},
): Promise<{ first: Page; second: Page; problems: string[] }> {
  const { page: first, problems } = await openDemo();
  await goHome(first, home);
  if (held) await chooseHeldModel(first, home);
  await ask(first, begin);
  const second = await openTab(first.context(), problems);
  await atRest(second);
  await expect.poll(() => questions(second).allInnerTexts()).toEqual([begin]);
  return { first, second, problems };
}

/** Waits until each page shows these questions. */
export async function shows(pages: readonly Page[], wanted: readonly string[]): Promise<void> {
  for (const page of pages)
    await expect.poll(() => questions(page).allInnerTexts()).toEqual(wanted);
}

export function lastAnswer(page: Page): Promise<string> {
  return answers(page).last().innerText();
}
