import { createStore, get, update } from 'idb-keyval';

/** How often each tool call has finished, by its id. */
export type ToolRuns = Readonly<Record<string, number>>;

const key = 'runs';

/**
 * Counts finished tool calls in this browser. The tools count themselves, apart from the session
 * log, so that the page can check the log's promise.
 */
export async function countRun(toolUseId: string): Promise<void> {
  await update<ToolRuns>(
    key,
    (runs = {}) => ({ ...runs, [toolUseId]: (runs[toolUseId] ?? 0) + 1 }),
    demoStore(),
  );
}

export async function toolRuns(): Promise<ToolRuns> {
  return (await get<ToolRuns>(key, demoStore())) ?? {};
}

/** The demo's own database, beside the one with the conversations. */
export function demoStore(): ReturnType<typeof createStore> {
  return createStore('isoloop-demo', 'notes');
}
