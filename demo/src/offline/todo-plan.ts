import type { JsonObject } from '@isoloop/core';
import { plan, type PlannedCall } from './plan.ts';

/** Maximum number of tasks in a plan. Each needs two steps of the loop. */
const maxTasks = 3;

/** Whether a question asks for a plan with a to-do list: it starts with “Plan:”. */
export function asksPlan(question: string): boolean {
  return /^\s*plan\s*:/i.test(question);
}

/**
 * Returns the tool call of one step of a plan. Every other step writes the to-do list, and the
 * steps between do one task each. After the last task, no call is left.
 */
export function planStep(question: string, step: number): readonly PlannedCall[] {
  const tasks = plan(question).slice(0, maxTasks);
  if (step % 2 === 1) return tasks.slice((step - 1) / 2, (step + 1) / 2);
  const done = step / 2;
  if (!tasks.length || done > tasks.length) return [];
  const todos = tasks.map((task, index) => ({
    content: taskText(task),
    status: statusOf(index, done),
  }));
  return [{ name: 'write_todos', input: { todos } satisfies JsonObject }];
}

function statusOf(index: number, done: number): string {
  if (index < done) return 'completed';
  return index === done ? 'in_progress' : 'pending';
}

function taskText({ name, input }: PlannedCall): string {
  if (name === 'calculator') return `Work out ${String(input['expression'])}`;
  if (name === 'time_in_city') return `Look up the time in ${String(input['city'])}`;
  return `Call ${name}`;
}
